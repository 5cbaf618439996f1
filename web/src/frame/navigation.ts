import { KeyRound, LayoutDashboard, type LucideIcon, Play, UserRound, Boxes } from 'lucide-react'
import type { Target } from '../components/links.tsx'

export type Destination = {
  text: string
  icon: LucideIcon
  link: Target
  keys?: string
  /** Search terms besides the text. */
  keywords?: string
}

export function organizationPages(organization: string | undefined): Destination[] {
  if (organization === undefined) return []
  const params = { organization }
  return [
    { text: 'Overview', icon: LayoutDashboard, keys: 'g o', link: { to: '/app/$organization', params } },
    { text: 'Workspaces', icon: Boxes, keys: 'g w', link: { to: '/app/$organization/workspaces', params } },
    { text: 'Runs', icon: Play, keys: 'g r', link: { to: '/app/$organization/runs', params } },
  ]
}

export const USER_PAGES: readonly Destination[] = [
  {
    text: 'Account',
    icon: UserRound,
    link: { to: '/app/settings/account' },
    keywords: 'profile password two-factor authentication sessions',
  },
  { text: 'API tokens', icon: KeyRound, link: { to: '/app/settings/tokens' }, keywords: 'login credentials' },
]
