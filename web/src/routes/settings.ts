import { createRoute, redirect } from '@tanstack/react-router'
import { AUDIT_SEARCH } from '../features/audit-trail/audit-search.ts'
import { searchParams } from '../search-params.ts'
import { organization } from './organization.ts'
import { below, page } from './page.ts'
import { frame } from './root.ts'

const SETTINGS = below('Settings', '/app/$organization/settings')
const ACCOUNT = below('Account', '/app/settings/account')
const ADMINISTRATION = below('Administration', '/app/admin/users')
const PAGED = searchParams({ q: 'text', page: 'number', new: 'flag' })

const settings = createRoute({
  getParentRoute: () => organization,
  path: 'settings',
  ...page(async () => import('../features/organization-settings/settings-frame.tsx'), 'SettingsFrame'),
})
const general = createRoute({
  getParentRoute: () => settings,
  path: '/',
  ...page(async () => import('../features/organization-settings/general-page.tsx'), 'GeneralPage', SETTINGS),
})
const defaults = createRoute({
  getParentRoute: () => settings,
  path: 'defaults',
  ...page(async () => import('../features/organization-settings/defaults-page.tsx'), 'DefaultsPage', SETTINGS),
})
const signIn = createRoute({
  getParentRoute: () => settings,
  path: 'sign-in',
  ...page(async () => import('../features/organization-settings/sign-in-page.tsx'), 'OrganizationSignInPage', SETTINGS),
})
const retention = createRoute({
  getParentRoute: () => settings,
  path: 'retention',
  ...page(async () => import('../features/organization-settings/retention-page.tsx'), 'RetentionPage', SETTINGS),
})
const quotas = createRoute({
  getParentRoute: () => settings,
  path: 'quotas',
  ...page(async () => import('../features/organization-settings/quotas-page.tsx'), 'QuotasPage', SETTINGS),
})
const tokens = createRoute({
  getParentRoute: () => settings,
  path: 'tokens',
  validateSearch: PAGED,
  ...page(async () => import('../features/tokens/organization-tokens-page.tsx'), 'OrganizationTokensPage', SETTINGS),
})
const tags = createRoute({
  getParentRoute: () => settings,
  path: 'tags',
  validateSearch: PAGED,
  ...page(async () => import('../features/tags/tags-page.tsx'), 'TagsPage', SETTINGS),
})
const sshKeys = createRoute({
  getParentRoute: () => settings,
  path: 'ssh-keys',
  validateSearch: PAGED,
  ...page(async () => import('../features/ssh-keys/ssh-keys-page.tsx'), 'SshKeysPage', SETTINGS),
})
const gpgKeys = createRoute({
  getParentRoute: () => settings,
  path: 'gpg-keys',
  validateSearch: PAGED,
  ...page(async () => import('../features/registry/gpg-keys-page.tsx'), 'GpgKeysPage', SETTINGS),
})
const deletion = createRoute({
  getParentRoute: () => settings,
  path: 'delete',
  ...page(async () => import('../features/organization-settings/deletion-page.tsx'), 'DeletionPage', SETTINGS),
})
export const organizationSettings = settings.addChildren([
  general,
  defaults,
  signIn,
  retention,
  quotas,
  tokens,
  tags,
  sshKeys,
  gpgKeys,
  deletion,
])

const account = createRoute({
  getParentRoute: () => frame,
  path: '/app/settings',
  ...page(async () => import('../features/account/account-frame.tsx'), 'AccountFrame'),
})
const accountIndex = createRoute({
  getParentRoute: () => account,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/app/settings/account' })
  },
})
const profile = createRoute({
  getParentRoute: () => account,
  path: 'account',
  ...page(async () => import('../features/account/account-page.tsx'), 'AccountPage', ACCOUNT),
})
const userNotifications = createRoute({
  getParentRoute: () => account,
  path: 'notifications',
  ...page(async () => import('../features/account/notifications-page.tsx'), 'NotificationsPage', ACCOUNT),
})
const userTokens = createRoute({
  getParentRoute: () => account,
  path: 'tokens',
  validateSearch: searchParams({ page: 'number' }),
  ...page(async () => import('../features/tokens/tokens-page.tsx'), 'TokensPage', ACCOUNT),
})
export const accountSettings = account.addChildren([accountIndex, profile, userNotifications, userTokens])

const admin = createRoute({
  getParentRoute: () => frame,
  path: '/app/admin',
  ...page(async () => import('../features/admin/admin-frame.tsx'), 'AdminFrame'),
})
const adminIndex = createRoute({
  getParentRoute: () => admin,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/app/admin/users' })
  },
})
const users = createRoute({
  getParentRoute: () => admin,
  path: 'users',
  validateSearch: searchParams({ q: 'text', filter: 'text', page: 'number', new: 'flag' }),
  ...page(async () => import('../features/admin/users-page.tsx'), 'UsersPage', ADMINISTRATION),
})
const user = createRoute({
  getParentRoute: () => admin,
  path: 'users/$user',
  ...page(async () => import('../features/admin/user-page.tsx'), 'UserPage', ADMINISTRATION),
})
const organizations = createRoute({
  getParentRoute: () => admin,
  path: 'organizations',
  validateSearch: PAGED,
  ...page(async () => import('../features/admin/organizations-page.tsx'), 'AdminOrganizationsPage', ADMINISTRATION),
})
const siteOrganization = createRoute({
  getParentRoute: () => admin,
  path: 'organizations/$name',
  ...page(async () => import('../features/admin/organization-page.tsx'), 'AdminOrganizationPage', ADMINISTRATION),
})
const siteSignIn = createRoute({
  getParentRoute: () => admin,
  path: 'sign-in',
  validateSearch: searchParams({ trial: 'text' }),
  ...page(async () => import('../features/admin/sign-in-page.tsx'), 'SiteSignInPage', ADMINISTRATION),
})
const identityKeys = createRoute({
  getParentRoute: () => admin,
  path: 'identity-keys',
  ...page(async () => import('../features/admin/identity-keys-page.tsx'), 'IdentityKeysPage', ADMINISTRATION),
})
const opaVersions = createRoute({
  getParentRoute: () => admin,
  path: 'opa-versions',
  validateSearch: searchParams({ q: 'text', page: 'number', new: 'flag', edit: 'text' }),
  ...page(async () => import('../features/admin/opa-versions-page.tsx'), 'OpaVersionsPage', ADMINISTRATION),
})
const health = createRoute({
  getParentRoute: () => admin,
  path: 'health',
  ...page(async () => import('../features/admin/health-page.tsx'), 'HealthPage', ADMINISTRATION),
})
const jobs = createRoute({
  getParentRoute: () => admin,
  path: 'jobs',
  validateSearch: PAGED,
  ...page(async () => import('../features/admin/jobs-page.tsx'), 'JobsPage', ADMINISTRATION),
})
const siteAuditTrail = createRoute({
  getParentRoute: () => admin,
  path: 'audit-trail',
  validateSearch: searchParams(AUDIT_SEARCH),
  ...page(async () => import('../features/audit-trail/audit-trail-page.tsx'), 'SiteAuditTrailPage', ADMINISTRATION),
})
const about = createRoute({
  getParentRoute: () => admin,
  path: 'about',
  ...page(async () => import('../features/admin/about-page.tsx'), 'AboutPage', ADMINISTRATION),
})
export const administration = admin.addChildren([
  adminIndex,
  users,
  user,
  organizations,
  siteOrganization,
  siteSignIn,
  identityKeys,
  opaVersions,
  health,
  jobs,
  siteAuditTrail,
  about,
])
