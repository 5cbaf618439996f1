import { z } from 'zod'
import { plainBody } from './json-api.ts'
import { type Written, hasOne, nullable, resource, timestamp } from './responses.ts'
import { enteredPassword } from './users.ts'

/** `username` may be the e-mail address; `otp` is a code of the authenticator, or a recovery code. */
export const createSessionBody = plainBody(
  'sessions',
  z
    .object({
      username: z.string().max(254).optional(),
      email: z.string().max(254).optional(),
      password: enteredPassword,
      otp: z.string().max(100).optional(),
    })
    .refine((body) => (body.username ?? body.email ?? '') !== '', {
      path: ['username'],
      error: 'username is missing: the name or e-mail address of an account',
    }),
)
export type CreateSession = z.infer<typeof createSessionBody>['data']['attributes']

/** Browser sessions are our own resource: the public API has only tokens. */
export const sessionSchema = resource('sessions', {
  attributes: {
    'created-at': timestamp,
    'last-used-at': timestamp,
    'expires-at': timestamp.describe('our own: when it expires unless it is used before'),
    address: nullable.string.describe('our own: the IP address from which it was opened'),
    'user-agent': nullable.string.describe('our own: the User-Agent header of the browser that opened it'),
    'is-current': z.boolean().describe('our own: whether it is the session of this request'),
  },
  relationships: { user: hasOne('users') },
})
export type SessionResource = Written<typeof sessionSchema>

export const signInMethodsSchema = resource('sign-in-methods', {
  name: 'SignInMethods',
  attributes: {
    password: z.boolean(),
    'password-reset': z.boolean().describe('our own: whether the server mails links to reset a forgotten password'),
    sso: z
      .strictObject({
        name: z.string().describe('our own: the display name of the provider'),
        url: z.string().describe('our own: the path on this server to open in the browser'),
      })
      .nullable(),
  },
})
export type SignInMethodsResource = Written<typeof signInMethodsSchema>
