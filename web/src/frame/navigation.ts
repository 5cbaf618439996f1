import { KeyRound, LayoutDashboard, type LucideIcon, Play, UserRound, Boxes } from 'lucide-react'
import type { Target } from '../components/target.tsx'

export type Destination = {
  text: string
  icon: LucideIcon
  link: Target
  /** Two keys, one after the other. */
  keys?: string
  /** Other words by which people look for it. */
  words?: string
}

/** The pages of an organization. */
export function organizationPages(organization: string): Destination[] {
  const params = { organization }
  return [
    { text: 'Overview', icon: LayoutDashboard, keys: 'g o', link: { to: '/app/$organization', params } },
    { text: 'Workspaces', icon: Boxes, keys: 'g w', link: { to: '/app/$organization/workspaces', params } },
    { text: 'Runs', icon: Play, keys: 'g r', link: { to: '/app/$organization/runs', params } },
  ]
}

/** The pages of the person. */
export const OWN_PAGES: readonly Destination[] = [
  {
    text: 'Account',
    icon: UserRound,
    link: { to: '/app/settings/account' },
    words: 'profile password two-factor authentication sessions',
  },
  { text: 'API tokens', icon: KeyRound, link: { to: '/app/settings/tokens' }, words: 'login credentials' },
]
