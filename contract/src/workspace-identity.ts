import { z } from 'zod'
import { plainBody } from './json-api.ts'
import { type Written, hasOne, linkedResource, nullable, resource } from './responses.ts'

/** Phases of a run that get tokens. */
export const identityPhase = z.enum(['plan', 'apply'])
export type IdentityPhase = z.infer<typeof identityPhase>

/** Services whose credentials the variables of a workspace can configure; `token` is any other service. */
export const identityProvider = z.enum(['aws', 'gcp', 'azure', 'vault', 'kubernetes', 'hcp', 'token'])
export type IdentityProvider = z.infer<typeof identityProvider>

const phases = z.array(identityPhase)
const ofPhases = { plan: z.string(), apply: z.string() }

const credential = z.strictObject({
  provider: identityProvider,
  tag: nullable.string.describe('the suffix of its variables, null for the default configuration'),
  audience: nullable.string.describe('the `aud` of its token; null if a sensitive variable sets it'),
  phases,
})

const snippet = z.strictObject({
  title: z.string().describe('the purpose of the text, such as `Trust policy of the role`'),
  language: z.enum(['json', 'shell', 'yaml', 'hcl']),
  text: z.string(),
})

/** The identity that runs of a workspace have, and the policies by which services can trust it. */
export const workloadIdentitySchema = linkedResource('workload-identities', {
  name: 'WorkloadIdentity',
  attributes: {
    issuer: z.string().describe('the `iss` of tokens'),
    'issuer-is-external': z.boolean().describe('whether the documents of the issuer are exported to another address'),
    'issuer-problem': nullable.string.describe(
      'why services on the internet cannot verify tokens, such as a private address; null if the server does not know of any reason',
    ),
    'openid-configuration-url': z.string(),
    'jwks-url': z.string(),
    subjects: z.strictObject(ofPhases).describe('the `sub` of tokens'),
    claims: z
      .array(z.strictObject({ name: z.string(), description: z.string(), ...ofPhases }))
      .describe(
        'all claims of a token, with the value in each phase; those that differ from run to run have an example',
      ),
    credentials: z.array(credential).describe('credentials that the effective variables of the workspace configure'),
    problems: z
      .array(z.strictObject({ message: z.string(), phases }))
      .describe('why phases will fail before the engine starts'),
    'trust-policies': z.array(
      z.strictObject({
        provider: identityProvider,
        note: nullable.string.describe('a condition for the policy to work'),
        snippets: z.array(snippet),
      }),
    ),
  },
  relationships: { workspace: hasOne('workspaces') },
})
export type WorkloadIdentityResource = Written<typeof workloadIdentitySchema>

/** Maximum length of an audience, in characters. */
export const MAX_AUDIENCE = 1000
/** An audience has no control characters. */
export const AUDIENCE_TEXT = /^\P{Cc}*$/u

/** Without an audience, that of the first configured credential. */
export const previewIdentityTokenBody = plainBody(
  'identity-token-previews',
  z.object({
    audience: z
      .string()
      .trim()
      .min(1, 'it must name the service that verifies the token, such as aws.workload.identity')
      .max(MAX_AUDIENCE, `it must have at most ${MAX_AUDIENCE} characters`)
      .regex(AUDIENCE_TEXT, 'it must have no control characters')
      .nullish(),
    phase: identityPhase.default('plan'),
  }),
)
export type PreviewIdentityToken = z.infer<typeof previewIdentityTokenBody>['data']['attributes']

/** The parts of a token that a phase would get now. It has no signature, so no service accepts it. */
export const identityTokenPreviewSchema = resource('identity-token-previews', {
  attributes: {
    header: z.strictObject({ typ: z.literal('JWT'), alg: z.literal('RS256'), kid: z.string() }),
    claims: z.record(z.string(), z.union([z.string(), z.int()])),
  },
  relationships: { workspace: hasOne('workspaces') },
})
export type IdentityTokenPreviewResource = Written<typeof identityTokenPreviewSchema>
