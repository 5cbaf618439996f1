import { getRouteApi } from '@tanstack/react-router'
import { EyeOff, Plus, UsersRound } from 'lucide-react'
import { Suspense, lazy, useMemo } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Count, Table } from '../../components/table.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { type Team, organizationAccessText, useTeams } from './teams.ts'

const NewTeamDialog = lazy(async () => import('./new-team-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/teams')

export function TeamsPage() {
  const { organization } = route.useParams()
  const { new: isNew = false, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const mayCreate = useOrganizationPermissions(organization)?.['can-create-team'] ?? false
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
  const create = mayCreate && <Button label="New team" kind="primary" icon={Plus} onClick={() => setNew(true)} />
  return (
    <Page
      title="Teams"
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/teams`} />
          {create}
        </>
      }
      about={
        <>
          A team gives its members access. Pipelines and other programs use its tokens.{' '}
          <DocsLink page="authorisation" anchor="grants-and-levels">
            How access works
          </DocsLink>
        </>
      }
    >
      <SearchedList
        noun="teams"
        query={useTeams(organization, search)}
        search={search}
        onSearch={(change, replace) => void navigate({ search: (before) => ({ ...before, ...change }), replace })}
        empty={
          <EmptyState icon={UsersRound} title="No teams yet" actions={create}>
            <p>You see teams that are visible to the organization, and your own.</p>
          </EmptyState>
        }
      >
        {(teams) => <TeamTable organization={organization} teams={teams} />}
      </SearchedList>
      {isNew && mayCreate && (
        <Suspense>
          <NewTeamDialog organization={organization} onClose={() => setNew(false)} />
        </Suspense>
      )}
    </Page>
  )
}

function TeamTable({ organization, teams }: { organization: string; teams: readonly Team[] }) {
  const columns = useMemo<readonly Column<Team>[]>(
    () => [
      {
        header: 'Team',
        cell: ({ id, attributes }) => (
          <>
            <span className="flex flex-wrap items-center gap-2">
              <TargetLink
                leadsTo={{ to: '/app/$organization/teams/$team', params: { organization, team: id } }}
                className="font-medium wrap-anywhere hover:underline"
              >
                {attributes.name}
              </TargetLink>
              {attributes.visibility === 'secret' && attributes.name !== 'owners' && <SecretBadge />}
            </span>
            {attributes.description !== null && (
              <span className="block text-dim wrap-anywhere">{attributes.description}</span>
            )}
          </>
        ),
      },
      {
        header: 'Permissions',
        className: 'max-md:hidden',
        cell: (team) => organizationAccessText(team) || <span className="text-dim">none</span>,
      },
      {
        header: 'Members',
        className: 'w-px text-right',
        cell: ({ attributes: { 'users-count': count } }) => <Count value={count} />,
      },
    ],
    [organization],
  )
  return <Table label={`Teams of ${organization}`} columns={columns} rows={teams} />
}

export function SecretBadge() {
  return <Badge icon={EyeOff} text="secret" title="Visible to its members and to users who manage teams" />
}
