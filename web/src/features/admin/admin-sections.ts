/** The sections of the site administration, with search terms for the palette. */
export const ADMIN_SECTIONS = [
  { text: 'Users', link: { to: '/app/admin/users' }, keywords: 'suspend reset password' },
  { text: 'Organizations', link: { to: '/app/admin/organizations' }, keywords: 'quotas plan' },
  { text: 'Sign-in', link: { to: '/app/admin/sign-in' }, keywords: 'single sign-on oidc' },
  {
    text: 'Identity keys',
    link: { to: '/app/admin/identity-keys' },
    keywords: 'workload identity oidc openid issuer jwks rotate signing',
  },
  { text: 'OPA versions', link: { to: '/app/admin/opa-versions' }, keywords: 'policies open policy agent rego binary' },
  { text: 'Health', link: { to: '/app/admin/health' }, keywords: 'database storage queue agents' },
  { text: 'Failed jobs', link: { to: '/app/admin/jobs' }, keywords: 'retry' },
  { text: 'Audit trail', link: { to: '/app/admin/audit-trail' }, keywords: 'history events' },
  { text: 'About', link: { to: '/app/admin/about' }, keywords: 'version licences' },
] as const
