import { z } from 'zod'
import type { Written } from './answers.ts'

/** The answer to a command line's authorization code (RFC 6749 §5.1). */
export const accessTokenAnswer = z.strictObject({ access_token: z.string(), token_type: z.literal('bearer') })
export type AccessTokenAnswer = Written<typeof accessTokenAnswer>

/** The answer, with status 400, to an invalid authorization code (RFC 6749 §5.2). */
export const oauthErrorAnswer = z.strictObject({
  error: z.enum(['invalid_request', 'invalid_client', 'invalid_grant', 'unsupported_grant_type']),
  error_description: z.string(),
})
export type OAuthErrorAnswer = Written<typeof oauthErrorAnswer>
