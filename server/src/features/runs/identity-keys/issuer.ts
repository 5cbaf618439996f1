import type { OpenidConfiguration, PublishedKeys } from '@groundstate/contract/identity-keys'
import type { App } from '../../../app.ts'
import type { Config } from '../../../config.ts'
import type { IdentityKey } from './key-states.ts'

/** Paths of the documents below the address of the issuer. The first one is fixed (OpenID Connect Discovery 1.0 §4). */
export const CONFIGURATION_PATH = '/.well-known/openid-configuration'
export const KEYS_PATH = '/.well-known/jwks'

export function issuerOf({ config, baseUrl }: Pick<App, 'config' | 'baseUrl'>) {
  return config.issuerUrl ?? baseUrl
}

/** Whether services read the documents from a copy, which a new key reaches only when an administrator has exported it. */
export function isExternalIssuer({ issuerUrl, baseUrl }: Pick<Config, 'issuerUrl' | 'baseUrl'>) {
  return issuerUrl !== undefined && issuerUrl !== baseUrl
}

/** Claims of a workload, with their meaning. */
export const WORKLOAD_CLAIMS = {
  terraform_organization_id: 'id of the organization',
  terraform_organization_name: 'name of the organization, which may change',
  terraform_project_id: 'id of the project',
  terraform_project_name: 'name of the project, which may change',
  terraform_workspace_id: 'id of the workspace',
  terraform_workspace_name: 'name of the workspace, which may change',
  terraform_full_workspace: 'names of the organization, the project and the workspace',
  terraform_run_id: 'id of the run',
  terraform_run_phase: 'phase of the run',
} as const
export type WorkloadClaim = keyof typeof WORKLOAD_CLAIMS

export function openidConfiguration(issuer: string): OpenidConfiguration {
  return {
    issuer,
    jwks_uri: `${issuer}${KEYS_PATH}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid'],
    claims_supported: ['jti', 'iss', 'sub', 'aud', 'iat', 'nbf', 'exp', ...Object.keys(WORKLOAD_CLAIMS)],
  }
}

export function jwks(published: readonly IdentityKey[]): PublishedKeys {
  return {
    keys: published.map(({ row: { key_id: kid, modulus: n, exponent: e } }) => ({
      kty: 'RSA',
      use: 'sig',
      alg: 'RS256',
      kid,
      n,
      e,
    })),
  }
}
