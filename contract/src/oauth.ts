import { z } from 'zod'
import type { Written } from './responses.ts'

/** The response to a command line's authorization code (RFC 6749 §5.1). */
export const accessTokenResponse = z.strictObject({ access_token: z.string(), token_type: z.literal('bearer') })
export type AccessTokenResponse = Written<typeof accessTokenResponse>

/** The response, with status 400, to an invalid authorization code (RFC 6749 §5.2). */
export const oauthErrorResponse = z.strictObject({
  error: z.enum(['invalid_request', 'invalid_client', 'invalid_grant', 'unsupported_grant_type']),
  error_description: z.string(),
})
export type OAuthErrorResponse = Written<typeof oauthErrorResponse>
