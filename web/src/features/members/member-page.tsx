import { getRouteApi } from '@tanstack/react-router'
import { Plus, UserMinus } from 'lucide-react'
import { failureOf } from '../../api/queries.ts'
import { Card, CardList, DescriptionList } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { ErrorPage, Notice, Skeleton } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { TargetLink } from '../../components/links.tsx'
import { attempt, toast } from '../../components/overlay-hosts.tsx'
import { Page } from '../../components/page.tsx'
import { Picker } from '../../components/picker.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { useSession } from '../session/session.ts'
import { GrantsTable } from '../team-access/grants-table.tsx'
import { findManagedTeams, lastOwnerReason, organizationAccessText } from '../teams/teams.ts'
import { memberActions, useNewLink } from './member-actions.tsx'
import { InvitedBadge, TwoFactorStatus } from './member-status.tsx'
import { type Member, changeTeam, isOwner, useMember } from './members.ts'

const route = getRouteApi('/frame/app/$organization/members/$member')

export function MemberPage() {
  const { organization, member: id } = route.useParams()
  const query = useMember(organization, id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="member" list="members" {...failure} />
  return query.data ? <OpenMember organization={organization} member={query.data} /> : <Skeleton rows={8} />
}

type OpenMemberProps = { organization: string; member: Member }

function OpenMember({ organization, member }: OpenMemberProps) {
  const { q, page, projects } = route.useSearch()
  const navigate = route.useNavigate()
  const isYou = useSession().data?.id === member.userId
  const mayManage = useOrganizationPermissions(organization)?.['can-manage-users'] ?? false
  const { setLink, dialog } = useNewLink()
  const onRemoved = () => void navigate({ to: '/app/$organization/members', params: { organization } })
  const { name, attributes } = member
  const holder = { membershipId: member.id }
  return (
    <Page
      title={name}
      badge={
        <>
          {isYou && <Badge tone="accent" text="you" />}
          {isOwner(member) && <Badge text="owner" />}
          <InvitedBadge member={member} />
        </>
      }
      actions={
        <>
          <CopyCurl path={`/organization-memberships/${member.id}`} />
          <RowMenu
            label={`Actions for ${name}`}
            actions={memberActions({ organization, member, isYou, mayManage }, { onLink: setLink, onRemoved })}
          />
        </>
      }
    >
      <div className="max-w-4xl space-y-4">
        <Card title="Profile">
          <DescriptionList
            facts={[
              ['Username', member.username],
              ['Email', attributes.email],
              [
                attributes.status === 'invited' ? 'Invited' : 'Member since',
                <RelativeTime key="" at={attributes['created-at']} />,
              ],
              ['Two-factor', attributes['has-two-factor'] === null ? null : <TwoFactorStatus key="" member={member} />],
            ]}
          />
        </Card>
        <TeamsCard organization={organization} member={member} isYou={isYou} mayManage={mayManage} />
        {isOwner(member) ? (
          <Notice>Owners have full access to all projects and workspaces of the organization.</Notice>
        ) : (
          <>
            <SearchField
              label="Search by name"
              value={q ?? ''}
              onChange={(text) => void navigate({ search: { q: text || undefined }, replace: true })}
            />
            <GrantsTable
              {...{ organization, holder }}
              kind="project"
              title="Projects"
              about="Access to a project includes its workspaces."
              none="No access to single projects."
              search={{ q, page: projects }}
              onPage={(to) => void navigate({ search: (before) => ({ ...before, projects: to }) })}
            />
            <GrantsTable
              {...{ organization, holder }}
              kind="workspace"
              title="Workspaces"
              none="No access to single workspaces."
              search={{ q, page }}
              onPage={(to) => void navigate({ search: (before) => ({ ...before, page: to }) })}
            />
          </>
        )}
        {dialog}
      </div>
    </Page>
  )
}

type TeamsCardProps = OpenMemberProps & { isYou: boolean; mayManage: boolean }

function TeamsCard({ organization, member, isYou, mayManage }: TeamsCardProps) {
  const ids = new Set(member.teams.map(({ id }) => id))
  const change = async (method: 'POST' | 'DELETE', teamId: string) =>
    changeTeam(method, { organization, teamId, membershipId: member.id })
  async function add({ value, text }: { value: string; text: string }) {
    await change('POST', value)
    toast({ text: `${member.name} added to ${text}` })
  }
  return (
    <Card
      title="Teams"
      about={
        <>
          Members get the access of their teams.{' '}
          <DocsLink page="authorisation" anchor="grants-and-levels">
            How access adds up
          </DocsLink>
        </>
      }
      isFlush
      actions={
        mayManage && (
          <Picker
            label="Add to team"
            icon={Plus}
            size="small"
            placeholder="Team name"
            about={['teams', organization, 'without', member.id, ids.size]}
            load={async (text, signal) =>
              (await findManagedTeams(organization, text, signal)).filter(({ value }) => !ids.has(value))
            }
            onChoose={(choice) => void attempt(async () => add(choice))}
          />
        )
      }
    >
      <CardList items={member.teams} none="No teams. Without one, a member has almost no access.">
        {(team) => (
          <li key={team.id} className="flex flex-wrap items-start gap-x-4 gap-y-2 px-4 py-3">
            <div className="min-w-0 flex-1">
              <h3 className="font-medium">
                <TargetLink
                  leadsTo={{ to: '/app/$organization/teams/$team', params: { organization, team: team.id } }}
                  className="hover:underline"
                >
                  {team.attributes.name}
                </TargetLink>
              </h3>
              <p className="text-dim">{organizationAccessText(team) || 'No access to the whole organization'}.</p>
            </div>
            {team.attributes.permissions['can-update-membership'] && (
              <RowMenu
                label={`Actions for ${team.attributes.name}`}
                actions={[
                  {
                    text: isYou ? 'Leave team' : 'Remove from team',
                    icon: UserMinus,
                    reason: lastOwnerReason(team),
                    confirm: {
                      title: `Remove ${isYou ? 'yourself' : member.name} from ${team.attributes.name}?`,
                      consequence: `${isYou ? 'You lose' : 'They lose'} what only this team may do.`,
                      action: 'Remove',
                      done: `${member.name} removed from ${team.attributes.name}`,
                      onConfirm: async () => change('DELETE', team.id),
                    },
                  },
                ]}
              />
            )}
          </li>
        )}
      </CardList>
    </Card>
  )
}
