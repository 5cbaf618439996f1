import { failureOf, includedOf } from '../../api/queries.ts'
import { Card, CardList } from '../../components/card.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Badge } from '../../components/status.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { WorkspaceAccessForm } from './access-forms.tsx'
import { LEVELS, PROJECT_LEVELS, accessText, ownPermissionTexts, projectAccessText } from './access-text.ts'
import { GrantsCard } from './grants-card.tsx'
import { type Grant, useGrants } from './grants.ts'
import { TeamLink, WiderAccess } from './team-link.tsx'

export function AccessTab() {
  const { organization, document, workspace } = useOpenWorkspace()
  const project = includedOf(document).one('projects', workspace.relationships.project)
  const own = useGrants('workspace', workspace.id)
  const inherited = useGrants('project', project?.id)
  const failure = failureOf(own, inherited)
  if (failure) return <ErrorNote {...failure} />
  if (!own.data || (project && !inherited.data)) return <Skeleton label="Loading the teams" />
  const { name, permissions } = workspace.attributes
  const seesAll = permissions['can-update']
  const words = new Intl.ListFormat('en', { type: 'conjunction' }).format(ownPermissionTexts(permissions))
  return (
    <div className="max-w-4xl space-y-4">
      <Card title="Your access">{words === '' ? 'You can see that the workspace exists.' : `You can ${words}.`}</Card>
      <GrantsCard
        organization={organization}
        subject={{ kind: 'workspace', id: workspace.id, name }}
        title={seesAll ? 'Teams with access' : 'Your teams'}
        none={seesAll ? 'No team has access to this workspace.' : 'None has access to this workspace.'}
        grants={own.data}
        mayManage={seesAll}
        levelOf={({ access }) => LEVELS[access].text}
        textOf={accessText}
        remaining="Its members keep access granted by the project or the organization."
        renderForm={(form) => <WorkspaceAccessForm {...form} />}
      />
      {project && inherited.data && (inherited.data.length > 0 || seesAll) && (
        <Inherited
          grants={inherited.data}
          organization={organization}
          project={{ id: project.id, name: project.attributes.name }}
        />
      )}
      <WiderAccess organization={organization} />
    </div>
  )
}

type InheritedProps = {
  grants: readonly Grant<'project'>[]
  organization: string
  project: { id: string; name: string }
}

function Inherited({ grants, organization, project }: InheritedProps) {
  const target = {
    to: '/app/$organization/projects/$project',
    params: { organization, project: project.id },
    search: { tab: 'access' },
  }
  return (
    <Card
      title={`Inherited from project ${project.name}`}
      about={
        <>
          Configured in the{' '}
          <TargetLink leadsTo={target} className="text-accent underline">
            project’s access
          </TargetLink>
          .
        </>
      }
      isFlush
    >
      <CardList items={grants} none="No team has access to the project.">
        {({ id, team, teamId, attributes }) => (
          <li key={id} className="px-4 py-3">
            <h3 className="flex flex-wrap items-center gap-2 font-medium">
              <TeamLink organization={organization} id={teamId} name={team} />{' '}
              <Badge text={PROJECT_LEVELS[attributes.access].text} />
            </h3>
            <p className="text-dim">{projectAccessText(attributes)}</p>
          </li>
        )}
      </CardList>
    </Card>
  )
}
