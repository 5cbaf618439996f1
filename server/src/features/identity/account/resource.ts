import type { AccountResource } from '@groundstate/contract/account'
import { userResource, type Viewer } from '../users/resource.ts'
import type { UserRow } from '../users/store.ts'

/** The actor's own account: the user as others see them, with private attributes. */
export function accountResource(row: UserRow, { hasTwoFactor, ...viewer }: AccountFacts): AccountResource {
  const resource = userResource(row, viewer)
  const isPassword = row.auth_method === 'password'
  return {
    ...resource,
    attributes: {
      ...resource.attributes,
      email: row.email,
      'unconfirmed-email': row.unconfirmed_email,
      'is-site-admin': row.is_site_admin,
      'is-admin': row.is_site_admin,
      'is-sso-login': row.auth_method === 'sso',
      'is-confirmed': true,
      'two-factor': { enabled: hasTwoFactor, verified: hasTwoFactor },
      permissions: {
        ...resource.attributes.permissions,
        'can-create-organization': resource.attributes.permissions['can-create-organizations'],
        'can-change-password': isPassword,
        'can-manage-sessions': !row.is_service_account,
        'can-manage-user-tokens': !row.is_service_account,
        'can-view2fa-settings': isPassword,
        'can-manage-hcp-account': false,
      },
    },
  }
}

type AccountFacts = Viewer & { hasTwoFactor: boolean }
