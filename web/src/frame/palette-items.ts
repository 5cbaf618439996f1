import {
  Bomb,
  BookOpen,
  Boxes,
  Building2,
  CircleHelp,
  Keyboard,
  Lock,
  LockOpen,
  LogOut,
  type LucideIcon,
  Monitor,
  Moon,
  Play,
  Plus,
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
import { lockHolder } from '../features/workspaces/lock-holder.ts'
import { shownSettings, shownTabs } from '../features/workspaces/workspace-sections.ts'
import type { WorkspaceAttributes, WorkspaceDocument } from '../features/workspaces/workspace.ts'
import { ACCOUNT_PAGES, USER_PAGES } from './navigation.ts'
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

const WORKSPACE = '/app/$organization/workspaces/$workspace'

type WorkspaceContext = {
  organization: string
  document: WorkspaceDocument
  /** The id of the user. */
  userId: string | undefined
  unlock: () => void
}

/** The tabs, settings and actions of the open workspace. */
export function workspaceGroup({ organization, document, userId, unlock }: WorkspaceContext): ItemGroup {
  const { name, permissions, ...own } = document.data.attributes
  const open = (search: Record<string, boolean>) => ({
    link: { to: WORKSPACE, params: { organization, workspace: name }, search },
  })
  const isRemote = own['execution-mode'] !== 'local'
  const holder = lockHolder(document)
  const isOwn = holder?.kind === 'user' && holder.id === userId
  const mayForce = permissions['can-force-unlock'] && holder !== undefined && holder.kind !== 'run' && !isOwn
  const actions = [
    [permissions['can-queue-run'] && isRemote, Play, 'New run', 'start plan', open({ start: true })],
    [permissions['can-queue-destroy'] && isRemote, Bomb, 'New destroy run…', 'start plan', open({ destroy: true })],
    [permissions['can-lock'] && !holder, Lock, 'Lock…', 'workspace', open({ lock: true })],
    [permissions['can-unlock'] && isOwn, LockOpen, 'Unlock', 'workspace', { onSelect: unlock }],
    [mayForce, LockOpen, 'Force-unlock…', 'workspace', open({ lock: true })],
  ] as const
  const offered = actions.flatMap(([isOffered, icon, text, keywords, target]): Item[] =>
    isOffered ? [{ id: `${text} ${keywords} ${name}`, icon, text, ...target }] : [],
  )
  return {
    heading: `Workspace ${name}`,
    items: [...offered, ...workspacePages(organization, document.data.attributes)],
  }
}

/** The tabs of a workspace and the sections of its settings that the user may open. */
export function workspacePages(organization: string, workspace: WorkspaceAttributes): readonly Item[] {
  const { name, permissions } = workspace
  const params = { organization, workspace: name }
  const sections = permissions['can-read-settings'] ? shownSettings(permissions).filter(({ path }) => path !== '') : []
  return [
    ...shownTabs(workspace).map(([text, path]) => ({
      id: `${text} tab of ${name}`,
      icon: Boxes,
      text,
      link: { to: `${WORKSPACE}${path}`, params },
    })),
    ...sections.map(({ text, path, keywords }) => ({
      id: `${text} settings of ${name} ${keywords}`,
      icon: Settings,
      text: `Settings: ${text}`,
      link: { to: `${WORKSPACE}/settings${path}`, params },
    })),
  ]
}

const RUN_KEYWORDS: Readonly<Record<string, string>> = { 'Confirm & apply': 'approve', 'Re-run': 'rerun retry' }

/** The actions that the open run page offers. They open the confirmation there and never decide. */
export function runGroup(labels: readonly string[], open: (label: string) => void): ItemGroup {
  const items = labels.map((label) => ({
    id: `${label} run ${RUN_KEYWORDS[label] ?? ''}`,
    icon: Play,
    text: `${label}…`,
    onSelect: () => open(label),
  }))
  return { heading: 'This run', items }
}

/** The dialogs of an organization that create something, with the permission that each requires. */
const NEW_ITEMS: readonly (readonly [text: string, path: string, permission: keyof OrganizationPermissions])[] = [
  ['New project', '/projects', 'can-create-project'],
  ['New variable set', '/variable-sets', 'can-manage-varsets'],
  ['New run task', '/run-tasks', 'can-manage-run-tasks'],
  ['New agent pool', '/agents', 'can-update-agent-pools'],
  ['New team', '/teams', 'can-create-team'],
]

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
  const connect: Item = {
    id: 'New connection create add connect github gitlab bitbucket azure devops gitea git repository',
    icon: Plus,
    text: 'New connection',
    link: { to: '/app/$organization/connections/new', params },
  }
  const sections = pages.some(({ text }) => text === 'Settings') ? SETTINGS_SECTIONS : []
  return [
    {
      heading: 'Pages',
      items: pages.map(({ keywords = '', ...page }) => ({ id: `${page.text} ${keywords}`, ...page })),
    },
    {
      heading: 'Actions',
      items: [
        ...overviewActions(organization, permissions),
        ...NEW_ITEMS.filter(([, , permission]) => permissions?.[permission]).map(([text, path]) => ({
          id: `${text} create add`,
          icon: Plus,
          text,
          link: { to: `/app/$organization${path}`, params, search: { new: true } },
        })),
        ...(permissions?.['can-update-oauth'] ? [connect] : []),
        ...(permissions?.['can-manage-users'] ? [invite] : []),
      ],
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
  mayCreateOrganizations: boolean
  organizations: readonly string[]
  setTheme: (theme: Theme) => void
  signOut: () => void
  showShortcuts: () => void
}

const THEME_ICONS = { system: Monitor, light: Sun, dark: Moon } as const satisfies Record<Theme, LucideIcon>

/** Pages and actions that do not depend on an organization. */
export function generalGroups(general: General): readonly ItemGroup[] {
  const newOrganization: Item = {
    id: 'New organization create add',
    icon: Plus,
    text: 'New organization',
    link: { to: '/app', search: { all: true, new: true } },
  }
  const newUser: Item = {
    id: 'New user create add account',
    icon: UserPlus,
    text: 'New user',
    link: { to: '/app/admin/users', search: { new: true } },
  }
  const administration = general.isSiteAdmin ? ADMIN_SECTIONS : []
  return [
    {
      heading: 'Account',
      items: [
        ...[...USER_PAGES, ...ACCOUNT_PAGES].map(({ keywords = '', ...page }) => ({
          id: `${page.text} ${keywords}`,
          ...page,
        })),
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
        ...(general.mayCreateOrganizations ? [newOrganization] : []),
      ],
    },
    {
      heading: 'Administration',
      isDeep: true,
      items: [
        ...administration.map(({ text, link, keywords }) => ({
          id: `Administration ${text} ${keywords}`,
          icon: UserRound,
          text,
          link,
        })),
        ...(general.isSiteAdmin ? [newUser] : []),
      ],
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
