import { TargetLink } from '../../components/links.tsx'
import { HIDDEN_TEAM } from './grants.ts'

type TeamLinkProps = { organization: string; id: string | undefined; name: string }

/** A team's name; a link for those who may see the team. */
export function TeamLink({ organization, id, name }: TeamLinkProps) {
  if (id === undefined || name === HIDDEN_TEAM) return name
  const target = { to: '/app/$organization/teams/$team', params: { organization, team: id } }
  return (
    <TargetLink leadsTo={target} className="underline">
      {name}
    </TargetLink>
  )
}

/** Sources of access other than single grants. */
export function WiderAccess({ organization }: { organization: string }) {
  return (
    <p className="text-dim">
      Owners of the organization have full access. Other{' '}
      <TargetLink
        leadsTo={{ to: '/app/$organization/teams', params: { organization } }}
        className="text-accent underline"
      >
        teams
      </TargetLink>{' '}
      may have access to all projects or workspaces.
    </p>
  )
}
