import type { OrganizationPermissions } from '../organizations/organizations.ts'

type SettingsSection = {
  text: string
  path: string
  keywords: string
  /** Hidden from users without it. */
  permission?: keyof OrganizationPermissions
}

/** The sections of an organization's settings, with search terms for the palette. */
export const SETTINGS_SECTIONS: readonly SettingsSection[] = [
  { text: 'General', path: '', keywords: 'name email' },
  { text: 'Defaults', path: '/defaults', keywords: 'execution mode agent pool' },
  { text: 'Sign-in', path: '/sign-in', keywords: 'two-factor single sign-on session timeout' },
  { text: 'Retention', path: '/retention', keywords: 'delete old states' },
  { text: 'Quotas', path: '/quotas', keywords: 'limits usage plan', permission: 'can-view-usage' },
  { text: 'Tokens', path: '/tokens', keywords: 'organization team token' },
  { text: 'Tags', path: '/tags', keywords: 'reserved keys' },
  { text: 'SSH keys', path: '/ssh-keys', keywords: 'private key git modules' },
  { text: 'GPG keys', path: '/gpg-keys', keywords: 'signature provider registry openpgp' },
  { text: 'Delete organization', path: '/delete', keywords: '', permission: 'can-destroy' },
]
