import { getRouteApi } from '@tanstack/react-router'
import { UserPlus, UserRound } from 'lucide-react'
import { Suspense, lazy, useMemo } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, NotFoundPage } from '../../components/feedback.tsx'
import { ActiveFilters, FilterChips } from '../../components/filters.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { Picker } from '../../components/picker.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { useSession } from '../session/session.ts'
import { findTeams, useTeam } from '../teams/teams.ts'
import { memberActions, useNewLink } from './member-actions.tsx'
import { InvitedBadge, TwoFactorStatus } from './member-status.tsx'
import { type Invitation, type Member, type MemberSearch, useMembers } from './members.ts'

const InviteDialog = lazy(async () => import('./invite-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/members')

export function MembersPage() {
  const { organization } = route.useParams()
  const { invite: isInviting = false, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const permissions = useOrganizationPermissions(organization)
  const mayManage = permissions?.['can-manage-users'] ?? false
  const setInviting = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, invite: open || undefined }), replace: true })
  if (permissions && !permissions['can-view-users'])
    return (
      <NotFoundPage title="Members not found">Only owners and people who manage members see this page.</NotFoundPage>
    )
  const invite = mayManage && (
    <Button label="Invite people" kind="primary" icon={UserPlus} onClick={() => setInviting(true)} />
  )
  return (
    <Page
      title="Members"
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/organization-memberships`} />
          {invite}
        </>
      }
      about={
        <>
          People in the organization. Programs use{' '}
          <TargetLink
            leadsTo={{ to: '/app/$organization/teams', params: { organization } }}
            className="text-accent underline"
          >
            team tokens
          </TargetLink>{' '}
          instead of user accounts.
        </>
      }
    >
      <MemberList organization={organization} search={search} mayManage={mayManage} invite={invite} />
      {isInviting && mayManage && (
        <Suspense>
          <InviteDialog organization={organization} onClose={() => setInviting(false)} />
        </Suspense>
      )}
    </Page>
  )
}

type MemberListProps = { organization: string; search: MemberSearch; mayManage: boolean; invite: React.ReactNode }

function MemberList({ organization, search, mayManage, invite }: MemberListProps) {
  const navigate = route.useNavigate()
  const query = useMembers(organization, search)
  const { setLink, dialog } = useNewLink()
  const change = (changes: MemberSearch, replace = false) =>
    void navigate({ search: (before) => ({ ...before, page: undefined, ...changes }), replace })
  return (
    <>
      <SearchedList
        noun="members"
        query={query}
        search={search}
        onSearch={(changes, replace) => change(changes, replace)}
        isFiltered={search.status !== undefined || search.team !== undefined}
        onClearFilters={() => change({ status: undefined, team: undefined })}
        filters={
          <Filters
            organization={organization}
            search={search}
            counts={query.data?.meta['status-counts']}
            onChange={change}
          />
        }
        empty={
          <EmptyState icon={UserRound} title="No members yet" actions={invite}>
            <p>
              <DocsLink page="sign-in" anchor="invite-people">
                Invite people
              </DocsLink>{' '}
              by their addresses.
            </p>
          </EmptyState>
        }
      >
        {(members) => <MemberTable {...{ organization, members, mayManage }} onLink={setLink} />}
      </SearchedList>
      {dialog}
    </>
  )
}

type FiltersProps = {
  organization: string
  search: MemberSearch
  counts: { active: number; invited: number } | undefined
  onChange: (changes: MemberSearch) => void
}

function Filters({ organization, search, counts, onChange }: FiltersProps) {
  const { data: team } = useTeam(search.team)
  // The counts are those of the current filter.
  const shown = search.status === undefined ? counts : undefined
  return (
    <>
      <FilterChips
        label="Status"
        chips={[
          { value: 'active', text: 'Active', count: shown?.active },
          { value: 'invited', text: 'Invited', count: shown?.invited },
        ]}
        selected={new Set(search.status === undefined ? [] : [search.status])}
        onToggle={(value) => onChange({ status: search.status === value ? undefined : value })}
      />
      <Picker
        label="Team"
        placeholder="Team name"
        about={['teams', organization]}
        load={async (text, signal) =>
          (await findTeams(organization, text, signal)).map(({ id, attributes }) => ({
            value: id,
            text: attributes.name,
          }))
        }
        onChoose={({ value }) => onChange({ team: value })}
      />
      <ActiveFilters
        filters={
          search.team === undefined
            ? []
            : [
                {
                  name: 'Team',
                  value: team?.attributes.name ?? search.team,
                  onRemove: () => onChange({ team: undefined }),
                },
              ]
        }
        onClear={() => onChange({ team: undefined, status: undefined, q: undefined })}
      />
    </>
  )
}

type MemberTableProps = {
  organization: string
  members: readonly Member[]
  mayManage: boolean
  onLink: (link: Invitation) => void
}

function MemberTable({ organization, members, mayManage, onLink }: MemberTableProps) {
  const userId = useSession().data?.id
  const columns = useMemo<readonly Column<Member>[]>(
    () => [
      {
        header: 'Member',
        cell: (member) => (
          <>
            <span className="flex flex-wrap items-center gap-2">
              <TargetLink
                leadsTo={{ to: '/app/$organization/members/$member', params: { organization, member: member.id } }}
                className="font-medium wrap-anywhere hover:underline"
              >
                {member.name}
              </TargetLink>
              {member.userId === userId && <Badge tone="accent" text="you" />}
              <InvitedBadge member={member} />
            </span>
            {member.username !== undefined && (
              <span className="block text-dim wrap-anywhere">{member.attributes.email}</span>
            )}
          </>
        ),
      },
      {
        header: 'Teams',
        className: 'max-md:hidden',
        cell: (member) => <TeamLinks organization={organization} member={member} />,
      },
      {
        header: 'Two-factor',
        className: 'w-px whitespace-nowrap max-sm:hidden',
        cell: (member) => <TwoFactorStatus member={member} />,
      },
      {
        header: 'Actions',
        isHeaderHidden: true,
        className: 'w-px text-right',
        cell: (member) => (
          <RowMenu
            label={`Actions for ${member.name}`}
            actions={memberActions({ organization, member, isYou: member.userId === userId, mayManage }, { onLink })}
          />
        ),
      },
    ],
    [organization, userId, mayManage, onLink],
  )
  return <Table label={`Members of ${organization}`} columns={columns} rows={members} />
}

const MAX_TEAMS = 3

function TeamLinks({ organization, member: { teams } }: { organization: string; member: Member }) {
  if (teams.length === 0) return <span className="text-dim">none</span>
  return (
    <span className="flex flex-wrap gap-1">
      {teams.slice(0, MAX_TEAMS).map(({ id, attributes }) => (
        <TargetLink key={id} leadsTo={{ to: '/app/$organization/teams/$team', params: { organization, team: id } }}>
          <Badge text={attributes.name} />
        </TargetLink>
      ))}
      {teams.length > MAX_TEAMS && <span className="text-dim">and {teams.length - MAX_TEAMS} more</span>}
    </span>
  )
}
