import {
  Bot,
  Boxes,
  Braces,
  Folder,
  History,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  Play,
  Settings,
  ShieldCheck,
  UserRound,
  Users,
  UsersRound,
  Waypoints,
  Wrench,
} from 'lucide-react'
import type { Target } from '../components/links.tsx'
import { ADMIN_SECTIONS } from '../features/admin/admin-sections.ts'
import type { OrganizationPermissions } from '../features/organizations/organizations.ts'

export type Destination = {
  text: string
  icon: LucideIcon
  link: Target
  keys?: string
  /** Search terms besides the text. */
  keywords?: string
}
type OrganizationPage = Omit<Destination, 'link'> & {
  path: string
  /** Shown to users with one of these permissions; to all members by default. */
  permissions?: readonly (keyof OrganizationPermissions)[]
}

const ORGANIZATION_PAGES: readonly OrganizationPage[] = [
  { text: 'Overview', icon: LayoutDashboard, keys: 'g o', path: '' },
  { text: 'Workspaces', icon: Boxes, keys: 'g w', path: '/workspaces' },
  { text: 'Runs', icon: Play, keys: 'g r', path: '/runs' },
  { text: 'Projects', icon: Folder, keys: 'g p', path: '/projects' },
  { text: 'Variable sets', icon: Braces, keys: 'g v', path: '/variable-sets', permissions: ['can-read-varsets'] },
  { text: 'Run tasks', icon: ShieldCheck, keys: 'g k', path: '/run-tasks', permissions: ['can-read-run-tasks'] },
  { text: 'Run triggers', icon: Waypoints, keys: 'g e', path: '/run-triggers', keywords: 'graph dependencies' },
  { text: 'Agents', icon: Bot, keys: 'g a', path: '/agents', keywords: 'agent pools' },
  {
    text: 'Members',
    icon: UserRound,
    keys: 'g m',
    path: '/members',
    keywords: 'invite people',
    permissions: ['can-view-users'],
  },
  { text: 'Teams', icon: UsersRound, keys: 'g t', path: '/teams' },
  { text: 'Audit trail', icon: History, keys: 'g h', path: '/audit-trail', permissions: ['can-manage-auditing'] },
  {
    text: 'Settings',
    icon: Settings,
    keys: 'g s',
    path: '/settings',
    keywords: 'quotas retention tags tokens sign-in defaults',
    permissions: ['can-update', 'can-manage-tags', 'can-update-api-token', 'can-view-usage'],
  },
]

/** The pages of an organization that the user may open; those for all members while its permissions are unknown. */
export function organizationPages(
  organization: string | undefined,
  permissions: OrganizationPermissions | undefined,
): Destination[] {
  if (organization === undefined) return []
  return ORGANIZATION_PAGES.filter(
    (page) => !page.permissions || page.permissions.some((name) => permissions?.[name]),
  ).map(({ path, ...page }) => ({
    ...page,
    link: { to: `/app/$organization${path}`, params: { organization } },
  }))
}

export const USER_PAGES: readonly Destination[] = [
  {
    text: 'Account',
    icon: Users,
    link: { to: '/app/settings/account' },
    keywords: 'profile password two-factor authentication sessions',
  },
  { text: 'API tokens', icon: KeyRound, link: { to: '/app/settings/tokens' }, keywords: 'login credentials' },
]

/** For site administrators. The sidebar shows the first one. */
export const ADMIN_PAGES: readonly Destination[] = ADMIN_SECTIONS.map(({ text, link, keywords }, index) => ({
  text: index === 0 ? 'Administration' : `Administration: ${text}`,
  icon: Wrench,
  // Of all sections, so that the sidebar marks it on each.
  link: index === 0 ? { to: '/app/admin' } : link,
  keywords: index === 0 ? `${text} ${keywords}` : keywords,
}))
