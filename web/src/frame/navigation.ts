import { Bell, KeyRound, Users, Wrench } from 'lucide-react'
import { ADMIN_SECTIONS } from '../features/admin/admin-sections.ts'
import type { Destination } from '../features/organizations/organization-pages.ts'

export const USER_PAGES: readonly Destination[] = [
  {
    text: 'Account',
    icon: Users,
    link: { to: '/app/settings/account' },
    keywords: 'profile avatar picture name email password two-factor authentication sessions',
  },
  { text: 'API tokens', icon: KeyRound, link: { to: '/app/settings/tokens' }, keywords: 'login credentials' },
]

/** Other pages of the account, for the palette. */
export const ACCOUNT_PAGES: readonly Destination[] = [
  {
    text: 'Account: Notifications',
    icon: Bell,
    link: { to: '/app/settings/notifications' },
    keywords: 'email mails unsubscribe',
  },
]

/** For site administrators. The sidebar shows the first one. */
export const ADMIN_PAGES: readonly Destination[] = ADMIN_SECTIONS.map(({ text, link, keywords }, index) => ({
  text: index === 0 ? 'Administration' : `Administration: ${text}`,
  icon: Wrench,
  // Of all sections, so that the sidebar marks it on each.
  link: index === 0 ? { to: '/app/admin' } : link,
  keywords: index === 0 ? `${text} ${keywords}` : keywords,
}))
