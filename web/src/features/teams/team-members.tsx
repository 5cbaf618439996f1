import { getRouteApi } from '@tanstack/react-router'
import { Plus, UserMinus, UsersRound } from 'lucide-react'
import { useMemo } from 'react'
import { EmptyState } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { attempt, toast } from '../../components/overlay-hosts.tsx'
import { Picker } from '../../components/picker.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { InvitedBadge } from '../members/member-status.tsx'
import { type Member, changeTeam, findMembers, useTeamMembers } from '../members/members.ts'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { useSession } from '../session/session.ts'
import { type Team, lastOwnerReason } from './teams.ts'

const route = getRouteApi('/frame/app/$organization/teams/$team')

type TeamMembersProps = { organization: string; team: Team }

export function TeamMembers({ organization, team }: TeamMembersProps) {
  const { q, page } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useTeamMembers(organization, team.id, { q, page })
  const add = <AddMember organization={organization} team={team} />
  return (
    <SearchedList
      noun="members"
      query={query}
      search={{ q, page }}
      onSearch={(change, replace) => void navigate({ search: (before) => ({ ...before, ...change }), replace })}
      filters={add}
      empty={
        <EmptyState icon={UsersRound} title="No members yet" actions={add}>
          <p>Members of the team get all of its access.</p>
        </EmptyState>
      }
    >
      {(members) => <MemberTable organization={organization} team={team} members={members} />}
    </SearchedList>
  )
}

function AddMember({ organization, team }: TeamMembersProps) {
  const { name, permissions } = team.attributes
  const seesMembers = useOrganizationPermissions(organization)?.['can-view-users'] ?? false
  if (!permissions['can-update-membership'] || !seesMembers) return null
  async function add(membershipId: string, text: string) {
    await changeTeam('POST', { organization, teamId: team.id, membershipId })
    toast({ text: `${text} added to ${name}` })
  }
  return (
    <Picker
      label="Add member"
      icon={Plus}
      placeholder="Name or address"
      about={['organization-memberships', organization, 'not in', team.id]}
      load={async (text, signal) =>
        (await findMembers(organization, text, signal))
          .filter(({ teams }) => !teams.some(({ id }) => id === team.id))
          .map((member) => ({
            value: member.id,
            text: member.name,
            about: member.username === undefined ? 'invited' : (member.attributes.email ?? undefined),
          }))
      }
      onChoose={({ value, text }) => void attempt(async () => add(value, text))}
    />
  )
}

function MemberTable({ organization, team, members }: TeamMembersProps & { members: readonly Member[] }) {
  const userId = useSession().data?.id
  const seesMembers = useOrganizationPermissions(organization)?.['can-view-users'] ?? false
  const columns = useMemo<readonly Column<Member>[]>(() => {
    const { name: teamName, permissions } = team.attributes
    return [
      {
        header: 'Member',
        cell: (member) => (
          <span className="flex flex-wrap items-center gap-2">
            {seesMembers || member.userId === userId ? (
              <TargetLink
                leadsTo={{ to: '/app/$organization/members/$member', params: { organization, member: member.id } }}
                className="font-medium wrap-anywhere hover:underline"
              >
                {member.name}
              </TargetLink>
            ) : (
              <span className="font-medium">{member.name}</span>
            )}
            {member.userId === userId && <Badge tone="accent" text="you" />}
            <InvitedBadge member={member} />
          </span>
        ),
      },
      {
        header: 'Email',
        className: 'text-dim max-sm:hidden',
        cell: ({ username, attributes }) => username !== undefined && attributes.email,
      },
      {
        header: 'Actions',
        isHeaderHidden: true,
        className: 'w-px text-right',
        cell: (member) =>
          permissions['can-update-membership'] && (
            <RowMenu
              label={`Actions for ${member.name}`}
              actions={[
                {
                  text: 'Remove from team',
                  icon: UserMinus,
                  reason: lastOwnerReason(team),
                  confirm: {
                    title: `Remove ${member.name} from ${teamName}?`,
                    consequence: `${member.userId === userId ? 'You lose' : 'They lose'} what only this team may do.`,
                    action: 'Remove',
                    done: `${member.name} removed from ${teamName}`,
                    onConfirm: async () =>
                      changeTeam('DELETE', { organization, teamId: team.id, membershipId: member.id }),
                  },
                },
              ]}
            />
          ),
      },
    ]
  }, [organization, team, userId, seesMembers])
  return <Table label={`Members of ${team.attributes.name}`} columns={columns} rows={members} />
}
