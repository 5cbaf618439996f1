import {
  BookOpen,
  Boxes,
  Building2,
  CircleHelp,
  Keyboard,
  LogOut,
  type LucideIcon,
  Monitor,
  Moon,
  Play,
  Settings,
  Sun,
  UserRound,
  UserPlus,
} from 'lucide-react'
import type { Target } from '../components/links.tsx'
import { ADMIN_SECTIONS } from '../features/admin/admin-sections.ts'
import { GROUPS } from '../features/documentation/documents.ts'
import { SETTINGS_SECTIONS } from '../features/organization-settings/settings-sections.ts'
import { organizationPages } from '../features/organizations/organization-pages.ts'
import type { OrganizationPermissions } from '../features/organizations/organizations.ts'
import { overviewActions } from '../features/overview/overview-actions.ts'
import { WORKSPACE_SETTINGS, WORKSPACE_TABS } from '../features/workspaces/workspace-sections.ts'
import type { WorkspaceAttributes } from '../features/workspaces/workspace.ts'
import { USER_PAGES } from './navigation.ts'
import { THEMES, type Theme } from './theme.ts'

/** The palette filters by `id` and `keywords`, such as the search text for which the server returned the item. */
export type Item = {
  id: string
  keywords?: string[]
  icon: LucideIcon
  text: string
  about?: string
  link?: Target
  onSelect?: () => void
}
export type ItemGroup = {
  heading: string
  items: readonly Item[]
  /** Hidden until the user types. */
  isDeep?: boolean
}

/** The tabs, settings and actions of the open workspace. */
export function workspaceGroup(organization: string, { name, permissions, ...own }: WorkspaceAttributes): ItemGroup {
  const params = { organization, workspace: name }
  const to = '/app/$organization/workspaces/$workspace'
  const tabs = WORKSPACE_TABS.filter(([, , permission]) => !permission || permissions[permission])
  const sections = permissions['can-read-settings']
    ? WORKSPACE_SETTINGS.filter(({ path }) => path !== '' && (path !== '/delete' || permissions['can-destroy']))
    : []
  const start: Item = {
    id: `New run start plan ${name}`,
    icon: Play,
    text: 'New run',
    link: { to, params, search: { start: true } },
  }
  return {
    heading: `Workspace ${name}`,
    items: [
      ...(permissions['can-queue-run'] && own['execution-mode'] !== 'local' ? [start] : []),
      ...tabs.map(([text, path]) => ({
        id: `${text} tab of ${name}`,
        icon: Boxes,
        text,
        link: { to: `${to}${path}`, params },
      })),
      ...sections.map(({ text, path, keywords }) => ({
        id: `${text} settings of ${name} ${keywords}`,
        icon: Settings,
        text: `Settings: ${text}`,
        link: { to: `${to}/settings${path}`, params },
      })),
    ],
  }
}

/** The pages and actions of an organization that the user may open. */
export function organizationGroups(
  organization: string,
  permissions: OrganizationPermissions | undefined,
): readonly ItemGroup[] {
  const params = { organization }
  const pages = organizationPages(organization, permissions)
  const invite: Item = {
    id: 'Invite member people user',
    icon: UserPlus,
    text: 'Invite members',
    link: { to: '/app/$organization/members', params, search: { invite: true } },
  }
  const sections = pages.some(({ text }) => text === 'Settings') ? SETTINGS_SECTIONS : []
  return [
    {
      heading: 'Pages',
      items: pages.map(({ keywords = '', ...page }) => ({ id: `${page.text} ${keywords}`, ...page })),
    },
    {
      heading: 'Actions',
      items: [...overviewActions(organization, permissions), ...(permissions?.['can-manage-users'] ? [invite] : [])],
    },
    {
      heading: 'Organization settings',
      isDeep: true,
      items: sections.map(({ text, path, keywords }) => ({
        id: `Organization settings ${text} ${keywords}`,
        icon: Settings,
        text,
        link: { to: `/app/$organization/settings${path}`, params },
      })),
    },
  ]
}

type General = {
  isSiteAdmin: boolean
  organizations: readonly string[]
  setTheme: (theme: Theme) => void
  signOut: () => void
  showShortcuts: () => void
}

const THEME_ICONS = { system: Monitor, light: Sun, dark: Moon } as const satisfies Record<Theme, LucideIcon>

/** Pages and actions that do not depend on an organization. */
export function generalGroups(general: General): readonly ItemGroup[] {
  const administration = general.isSiteAdmin ? ADMIN_SECTIONS : []
  return [
    {
      heading: 'Account',
      items: [
        ...USER_PAGES.map(({ keywords = '', ...page }) => ({ id: `${page.text} ${keywords}`, ...page })),
        { id: 'Sign out log out', icon: LogOut, text: 'Sign out', onSelect: general.signOut },
        { id: 'Keyboard shortcuts help', icon: Keyboard, text: 'Keyboard shortcuts', onSelect: general.showShortcuts },
        ...THEMES.map((theme) => ({
          id: `Theme ${theme} mode`,
          icon: THEME_ICONS[theme],
          text: `Theme: ${theme}`,
          onSelect: () => general.setTheme(theme),
        })),
      ],
    },
    {
      heading: 'Organizations',
      items: [
        ...general.organizations.map((name) => ({
          id: `organization ${name}`,
          icon: Building2,
          text: name,
          link: { to: '/app/$organization', params: { organization: name } },
        })),
        {
          id: 'All organizations switch new',
          icon: Building2,
          text: 'All organizations',
          link: { to: '/app', search: { all: true } },
        },
      ],
    },
    {
      heading: 'Administration',
      isDeep: true,
      items: administration.map(({ text, link, keywords }) => ({
        id: `Administration ${text} ${keywords}`,
        icon: UserRound,
        text,
        link,
      })),
    },
    {
      heading: 'Documentation',
      isDeep: true,
      items: [
        { id: 'Documentation docs help manual', icon: CircleHelp, text: 'Documentation', link: { to: '/docs' } },
        { id: 'API reference docs OpenAPI', icon: BookOpen, text: 'API reference', link: { to: '/docs/api' } },
        ...GROUPS.flatMap(({ documents }) =>
          documents.map(({ page, title = page, about = '' }) => ({
            id: `docs ${title} ${about}`,
            icon: BookOpen,
            text: title,
            about,
            link: { to: '/docs/$page', params: { page } },
          })),
        ),
      ],
    },
  ]
}
