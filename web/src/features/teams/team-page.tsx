import { getRouteApi } from '@tanstack/react-router'
import { Suspense, lazy } from 'react'
import { failureOf } from '../../api/queries.ts'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { ParamTabs, openTab } from '../../components/tabs.tsx'
import { TokensCard } from '../tokens/tokens-card.tsx'
import { TeamAccess } from './team-access.tsx'
import { TeamMembers } from './team-members.tsx'
import { TeamPermissions } from './team-permissions.tsx'
import { TeamSettings } from './team-settings.tsx'
import { SecretBadge } from './teams-page.tsx'
import { type Team, isOwners, useTeam } from './teams.ts'

const NotificationsTab = lazy(async () => ({
  default: (await import('../notifications/notifications-tab.tsx')).NotificationsTab,
}))
const route = getRouteApi('/frame/app/$organization/teams/$team')

const TABS = {
  members: 'Members',
  permissions: 'Permissions',
  access: 'Access',
  notifications: 'Notifications',
  tokens: 'Tokens',
  settings: 'Settings',
} as const

export function TeamPage() {
  const { organization, team: id } = route.useParams()
  const query = useTeam(id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="team" list="teams" {...failure} />
  return query.data ? <OpenTeam organization={organization} team={query.data} /> : <Skeleton rows={8} />
}

type TeamTabProps = { organization: string; team: Team }

function OpenTeam({ organization, team }: TeamTabProps) {
  const { tab } = route.useSearch()
  const { name, description, visibility, permissions } = team.attributes
  const { tokens, ...others } = TABS
  const tabs: Readonly<Record<string, string>> = permissions['can-update-api-token']
    ? TABS
    : (others satisfies Omit<typeof TABS, 'tokens'>)
  const open = openTab(tabs, tab)
  const place = { to: '/app/$organization/teams/$team', params: { organization, team: team.id } }
  return (
    <Page
      title={name}
      documentTitle={`${name} · ${(tabs[open] ?? tokens).toLowerCase()}`}
      badge={visibility === 'secret' && !isOwners(team) && <SecretBadge />}
      about={description ?? undefined}
      actions={<CopyCurl path={`/teams/${team.id}`} />}
    >
      <ParamTabs label="Team" tabs={tabs} open={open} page={place} />
      <div className="mt-4 max-w-4xl">
        {open === 'members' && <TeamMembers organization={organization} team={team} />}
        {open === 'permissions' && <TeamPermissions organization={organization} team={team} />}
        {open === 'access' && <TeamAccess organization={organization} team={team} />}
        {open === 'notifications' && (
          <Suspense fallback={<Skeleton />}>
            <NotificationsTab
              owner={{ organization, kind: 'teams', id: team.id, name }}
              mayManage={permissions['can-update-sso-team-id']}
              place={{ ...place, search: { tab: open } }}
            />
          </Suspense>
        )}
        {open === 'tokens' && <TokensCard owner={{ kind: 'team', id: team.id, name }} mayManage />}
        {open === 'settings' && <TeamSettings organization={organization} team={team} />}
      </div>
    </Page>
  )
}
