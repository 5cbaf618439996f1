import { z } from 'zod'
import type { Written } from './responses.ts'

export const servicesResponse = z.strictObject({
  'tfe.v2': z.string(),
  'tfe.v2.1': z.string(),
  'tfe.v2.2': z.string(),
  'state.v2': z.string(),
  'modules.v1': z.string(),
  'providers.v1': z.string(),
  'login.v1': z.strictObject({
    client: z.string(),
    grant_types: z.array(z.literal('authz_code')),
    authz: z.string(),
    token: z.string(),
    ports: z
      .tuple([z.int(), z.int()])
      .readonly()
      .describe('the first and the last port on which a CLI may listen for its authorization code'),
  }),
})
export type ServicesResponse = Written<typeof servicesResponse>

const ranges = z.array(z.string()).describe('always empty: a self-hosted server does not know its addresses')

export const ipRangesResponse = z.strictObject({ api: ranges, notifications: ranges, sentinel: ranges, vcs: ranges })
export type IpRangesResponse = Written<typeof ipRangesResponse>

/** Response to a valid authorization code (RFC 6749 §5.1). */
export const accessTokenResponse = z.strictObject({ access_token: z.string(), token_type: z.literal('bearer') })
export type AccessTokenResponse = Written<typeof accessTokenResponse>

/** Response, with status 400, to an invalid authorization code (RFC 6749 §5.2). */
export const oauthErrorResponse = z.strictObject({
  error: z.enum(['invalid_request', 'invalid_client', 'invalid_grant', 'unsupported_grant_type']),
  error_description: z.string(),
})
export type OAuthErrorResponse = Written<typeof oauthErrorResponse>

export const livenessResponse = z.strictObject({ status: z.literal('ok') })
export type LivenessResponse = Written<typeof livenessResponse>

export const readinessResponse = z.strictObject({ status: z.literal('ready') })
export type ReadinessResponse = Written<typeof readinessResponse>
