import { z } from 'zod'
import { plainBody } from './json-api.ts'
import { givenPassword } from './users.ts'

/** `username` may be the e-mail address; `otp` is a code of the authenticator, or a recovery code. */
export const createSessionBody = plainBody(
  'sessions',
  z
    .object({
      username: z.string().max(254).optional(),
      email: z.string().max(254).optional(),
      password: givenPassword,
      otp: z.string().max(100).optional(),
    })
    .refine((body) => (body.username ?? body.email ?? '') !== '', {
      path: ['username'],
      error: 'username is missing: the name or the e-mail address of an account',
    }),
)
export type CreateSession = z.infer<typeof createSessionBody>['data']['attributes']
