import { z } from 'zod'
import { plainBody } from './json-api.ts'
import { type Written, linkedResource, nullable, timestamp } from './responses.ts'

/** Settings of the provider that an environment variable fixes together, and the one of passwords. */
export const PROVIDER_ATTRIBUTES = ['issuer', 'client-id', 'client-secret', 'name', 'scopes', 'group-claim'] as const

export const SIGN_IN_DEFAULTS = { name: 'single sign-on', scopes: 'openid profile email', 'group-claim': 'groups' }

const signInInput = z.object({
  issuer: z
    .url({ protocol: /^https?$/, error: 'issuer must be an address that begins with https:// or http://' })
    .max(500)
    .nullish()
    .describe('URL of the OpenID Connect provider; null removes the provider'),
  'client-id': z.string().trim().min(1, "client-id can't be blank").max(500).optional(),
  'client-secret': z
    .string()
    .min(1, "client-secret can't be blank; null is for a public client")
    .max(5000)
    .nullish()
    .describe('never shown; without it the saved one is kept, and null is for a public client'),
  name: z.string().trim().min(1, "name can't be blank").max(60).optional(),
  scopes: z
    .string()
    .trim()
    .max(1000)
    .regex(/^(?:\S+ +)*openid(?: +\S+)*$/, 'scopes must be separated by spaces and contain openid')
    .optional(),
  'group-claim': z.string().trim().min(1, "group-claim can't be blank").max(500).optional(),
  'password-sign-in': z.boolean().optional(),
})

/** Absent attributes keep their saved values; also the draft of a test or a trial. */
export const signInSettingsBody = plainBody('sign-in-settings', signInInput)
export type SignInInput = z.infer<typeof signInSettingsBody>['data']['attributes']

export const signInSettingsSchema = linkedResource('sign-in-settings', {
  name: 'SignInSettings',
  attributes: {
    issuer: nullable.string,
    'client-id': nullable.string,
    'client-secret': z.null().describe('never shown'),
    'has-client-secret': z.boolean(),
    name: z.string(),
    scopes: z.string(),
    'group-claim': z.string(),
    'password-sign-in': z.boolean(),
    'redirect-uri': z.string().describe('to be registered with the provider'),
    'fixed-attributes': z
      .array(z.enum([...PROVIDER_ATTRIBUTES, 'password-sign-in']))
      .describe('attributes that environment variables of the server set, so they cannot be changed here'),
    'proved-at': nullable.time.describe(
      'when a site administrator last signed in with these settings in a trial; passwords can be disabled within a day of it',
    ),
    'updated-at': nullable.time,
  },
})
export type SignInSettingsResource = Written<typeof signInSettingsSchema>

/** The checks of a test, in order. */
export const SIGN_IN_CHECKS = ['discovery', 'issuer', 'endpoints', 'keys', 'redirect-uri', 'client'] as const
export type SignInCheck = (typeof SIGN_IN_CHECKS)[number]

export const signInTestSchema = z
  .strictObject({
    passed: z.boolean().describe('whether no check has failed'),
    checks: z.array(
      z.strictObject({
        name: z.enum(SIGN_IN_CHECKS),
        status: z
          .enum(['passed', 'warning', 'failed', 'skipped'])
          .describe('skipped: an earlier check failed, on which this one depends'),
        detail: z.string(),
        advice: nullable.string.describe('what to do if it has not passed'),
      }),
    ),
  })
  .meta({ id: 'SignInTest' })
export type SignInTest = Written<typeof signInTestSchema>

const trialAccount = z.strictObject({
  outcome: z
    .enum(['sign-in', 'link', 'create', 'refuse'])
    .describe(
      'what a sign-in would do: use the account of the identity, link the account with the verified address, create an account, or fail',
    ),
  id: nullable.string,
  username: z.string(),
  'is-admin': z.boolean(),
  'is-suspended': z.boolean(),
})

/** Result of a trial sign-in; null until it is finished. */
export const trialResult = {
  error: nullable.string.describe('why the sign-in failed'),
  subject: nullable.string,
  email: nullable.string,
  'email-verified': z.boolean(),
  groups: z.array(z.string()).nullable().describe('null if the provider omits the groups of the user'),
  teams: z
    .array(z.strictObject({ id: z.string(), name: z.string(), organization: z.string() }))
    .describe('teams that the groups map to'),
  account: trialAccount.nullable(),
  claims: z.record(z.string(), z.unknown()),
}

export const signInTrialSchema = linkedResource('sign-in-trials', {
  attributes: {
    status: z.enum(['pending', 'succeeded', 'failed', 'expired']),
    url: z.string().describe('the path on this server at which the trial starts in a browser'),
    result: z.strictObject(trialResult).nullable(),
    'proves-sign-in': z.boolean().describe('whether a site administrator signed in, so that passwords can be disabled'),
    'created-at': timestamp,
    'finished-at': nullable.time,
  },
})
export type SignInTrialResource = Written<typeof signInTrialSchema>
export type TrialResult = NonNullable<SignInTrialResource['attributes']['result']>
