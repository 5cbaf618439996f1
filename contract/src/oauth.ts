import { z } from 'zod'
import type { Written } from './answers.ts'

/** What a command line gets for its code (RFC 6749 §5.1). */
export const accessTokenAnswer = z.strictObject({ access_token: z.string(), token_type: z.literal('bearer') })
export type AccessTokenAnswer = Written<typeof accessTokenAnswer>

/** What is answered, with status 400, to a code that is refused (RFC 6749 §5.2). */
export const oauthErrorAnswer = z.strictObject({
  error: z.enum(['invalid_request', 'invalid_client', 'invalid_grant', 'unsupported_grant_type']),
  error_description: z.string(),
})
export type OAuthErrorAnswer = Written<typeof oauthErrorAnswer>
