import {
  Bot,
  Boxes,
  Braces,
  Cable,
  Folder,
  History,
  LayoutDashboard,
  type LucideIcon,
  Package,
  Play,
  Scale,
  Settings,
  ShieldCheck,
  UserRound,
  UsersRound,
  Waypoints,
} from 'lucide-react'
import { isNotFound } from '../../api/client.ts'
import type { Target } from '../../components/links.tsx'
import { type OrganizationPermissions, useOrganization } from './organizations.ts'

export type Destination = {
  text: string
  icon: LucideIcon
  link: Target
  keys?: string
  /** Search terms besides the text. */
  keywords?: string
  /** The heading in the sidebar. */
  group?: string
}
type OrganizationPage = Omit<Destination, 'link'> & {
  path: string
  /** Shown to users with one of these permissions; to all members by default. */
  permissions?: readonly (keyof OrganizationPermissions)[]
}

const PAGES: readonly OrganizationPage[] = [
  { text: 'Overview', icon: LayoutDashboard, keys: 'g o', path: '' },
  { text: 'Workspaces', icon: Boxes, keys: 'g w', path: '/workspaces' },
  { text: 'Runs', icon: Play, keys: 'g r', path: '/runs' },
  { text: 'Projects', group: 'Shared resources', icon: Folder, keys: 'g p', path: '/projects' },
  {
    text: 'Variable sets',
    group: 'Shared resources',
    icon: Braces,
    keys: 'g v',
    path: '/variable-sets',
    permissions: ['can-read-varsets'],
  },
  {
    text: 'Run tasks',
    group: 'Shared resources',
    icon: ShieldCheck,
    keys: 'g k',
    path: '/run-tasks',
    keywords: 'attachments deliveries test signature',
    permissions: ['can-read-run-tasks'],
  },
  {
    text: 'Policies',
    group: 'Shared resources',
    icon: Scale,
    keys: 'g l',
    path: '/policies',
    keywords: 'policy sets opa rego rules enforcement',
  },
  {
    text: 'Run triggers',
    group: 'Shared resources',
    icon: Waypoints,
    keys: 'g e',
    path: '/run-triggers',
    keywords: 'graph dependencies',
  },
  {
    text: 'Registry',
    group: 'Shared resources',
    icon: Package,
    keys: 'g y',
    path: '/registry',
    keywords: 'modules providers versions publish',
  },
  {
    text: 'Connections',
    group: 'Shared resources',
    icon: Cable,
    keys: 'g c',
    path: '/connections',
    keywords: 'repositories git vcs github gitlab bitbucket azure devops gitea webhooks deliveries',
  },
  { text: 'Agents', group: 'Shared resources', icon: Bot, keys: 'g a', path: '/agents', keywords: 'agent pools' },
  {
    text: 'Members',
    group: 'Organization',
    icon: UserRound,
    keys: 'g m',
    path: '/members',
    keywords: 'invite people',
    permissions: ['can-view-users'],
  },
  { text: 'Teams', group: 'Organization', icon: UsersRound, keys: 'g t', path: '/teams' },
  {
    text: 'Audit trail',
    group: 'Organization',
    icon: History,
    keys: 'g h',
    path: '/audit-trail',
    permissions: ['can-manage-auditing'],
  },
  {
    text: 'Settings',
    group: 'Organization',
    icon: Settings,
    keys: 'g s',
    path: '/settings',
    keywords: 'quotas retention tags tokens sign-in defaults ssh keys',
    permissions: ['can-update', 'can-update-ssh-keys', 'can-manage-tags', 'can-update-api-token', 'can-view-usage'],
  },
]

/** The pages of an organization that the user may open; those for all members while its permissions are unknown. */
export function organizationPages(
  organization: string | undefined,
  permissions: OrganizationPermissions | undefined,
): Destination[] {
  if (organization === undefined) return []
  return PAGES.filter((page) => !page.permissions || page.permissions.some((name) => permissions?.[name])).map(
    ({ path, ...page }) => ({
      ...page,
      link: { to: `/app/$organization${path}`, params: { organization } },
    }),
  )
}

/** The pages for navigation; none of an organization that the user may not see. */
export function useOrganizationPages(organization: string | undefined) {
  const { data, error } = useOrganization(organization)
  return organizationPages(isNotFound(error) ? undefined : organization, data?.attributes.permissions)
}

const MAX_DISTANCE = 2

/** The pages whose names resemble a mistyped one. */
export function closestPages(name: string, pages: readonly Destination[]) {
  const typed = name.toLowerCase()
  return pages.filter(({ text }) => {
    const page = text.toLowerCase().replaceAll(' ', '-')
    return page.startsWith(typed) || typed.startsWith(page) || distance(typed, page) <= MAX_DISTANCE
  })
}

/** The edit distance of two texts. */
function distance(one: string, other: string) {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [at, letter] of one.split('').entries()) {
    let before = at
    row = row.map((above, index) => {
      const edits =
        index === 0
          ? at + 1
          : Math.min(before + 1, above + 1, (row[index - 1] ?? 0) + Number(letter !== other[index - 1]))
      before = edits
      return edits
    })
  }
  return row.at(-1) ?? 0
}
