import { z } from 'zod'
import { boundedList, requestBody, toMany } from './json-api.ts'
import { vcsRepo, vcsRepoSchema } from './oauth-clients.ts'
import { resourceName } from './organizations.ts'
import { policyKind } from './policies.ts'
import {
  type Written,
  hasMany,
  hasOne,
  linkedResource,
  nullable,
  resource,
  statusTimestamps,
  timestamp,
} from './responses.ts'
import { tagKey } from './tags.ts'
import { variableValue } from './variables.ts'

export const POLICY_SET_VERSION_STATUS = ['pending', 'ingressing', 'ready', 'errored'] as const

const text = (noun: string, max: number) =>
  z
    .string()
    .max(max, `${noun} is too long (maximum is ${max} characters)`)
    .refine((value) => !value.includes('\0'), { error: `${noun} must not contain null bytes` })

/** A directory in the archive, as written: clients compare it with their configuration. */
export const policiesPath = text('policies-path', 1000).refine(
  (path) => !path.split('/').includes('..') && !path.includes('\\'),
  { error: ({ input }) => `policies-path is ${JSON.stringify(input)}; it must be a directory in the archive` },
)

/** The directory of a `policies-path`, without slashes at its ends; empty for the root. */
export function policiesDirectory(path: string) {
  return path.replaceAll(/^(?:\.?\/)+|\/+$/g, '').replace(/^\.$/, '')
}

const tagSelector = z.object({
  'tag-key': tagKey,
  /** Null for any value. */
  'tag-value': z.string().max(255).nullish(),
  'is-exclude': z
    .boolean()
    .nullish()
    .transform((value) => value ?? false),
})
export type TagSelector = z.infer<typeof tagSelector>

const tagSelectors = boundedList(tagSelector, 100)
/** The older clients send the selectors as they are, without the members of a resource. */
export const tagSelectorsBody = z.object({
  data: tagSelectors.refine((list) => list.length > 0, 'data is empty: at least one tag selector is needed'),
})

const attributes = z.object({
  name: resourceName('Name', 255),
  description: text('description', 5000).nullish(),
  kind: policyKind.optional(),
  global: z.boolean().nullish(),
  overridable: z.boolean().nullish(),
  'agent-enabled': z
    .boolean()
    .refine((value) => value, 'agent-enabled must be true: agents evaluate the policies of OPA')
    .nullish(),
  'policy-tool-version': z.string().max(100).nullish(),
  'policies-path': policiesPath.nullish(),
  'policy-update-patterns': boundedList(text('policy-update-patterns', 1000), 100).nullish(),
  'tag-selectors': tagSelectors.nullish(),
  'vcs-repo': vcsRepo.nullish(),
})
const relationships = z.object({
  policies: toMany('policies').optional(),
  workspaces: toMany('workspaces').optional(),
  'workspace-exclusions': toMany('workspaces').optional(),
  projects: toMany('projects').optional(),
  'project-exclusions': toMany('projects').optional(),
})

export const createPolicySetBody = requestBody('policy-sets', attributes, relationships)
export type CreatePolicySet = z.infer<typeof createPolicySetBody>['data']
export const updatePolicySetBody = requestBody('policy-sets', attributes.partial(), relationships)
export type UpdatePolicySet = z.infer<typeof updatePolicySetBody>['data']

export const policySetSchema = linkedResource('policy-sets', {
  attributes: {
    name: z.string(),
    description: z.string(),
    kind: z.literal('opa'),
    global: z.boolean().describe('whether it applies to all workspaces of the organization that are not excluded'),
    overridable: z.boolean().describe('whether those permitted to may override a failed mandatory policy'),
    'agent-enabled': z.literal(true),
    'policy-tool-version': z.string().describe('the version of OPA, or `latest`'),
    'policies-path': nullable.string.describe('directory of `policies.hcl` in the archives; null for the root'),
    'policy-update-patterns': z
      .array(z.string())
      .describe('paths whose changes make a new version; without any, those of all files below `policies-path`'),
    'tag-selectors': z
      .array(z.strictObject({ 'tag-key': z.string(), 'tag-value': nullable.string, 'is-exclude': z.boolean() }))
      .describe('tags of workspaces to which it applies or, with `is-exclude`, does not; a null value is any'),
    'vcs-repo': vcsRepoSchema.nullable(),
    versioned: z.boolean().describe('whether its policies come from versions; otherwise they are attached'),
    'policy-count': z.int(),
    'workspace-count': z.int().describe('attached workspaces that the caller may see'),
    'workspace-exclusion-count': z.int(),
    'project-count': z.int(),
    'project-exclusion-count': z.int(),
    'created-at': timestamp,
    'updated-at': timestamp,
    permissions: z.strictObject({ 'can-update': z.boolean() }).describe("our own: the caller's permissions on the set"),
  },
  relationships: {
    organization: hasOne('organizations'),
    policies: hasMany('policies'),
    workspaces: hasMany('workspaces').describe('those that the caller may see, as in the other lists'),
    'workspace-exclusions': hasMany('workspaces'),
    projects: hasMany('projects'),
    'project-exclusions': hasMany('projects'),
    'current-version': hasOne('policy-set-versions').describe('the version whose policies are evaluated'),
    'newest-version': hasOne('policy-set-versions'),
  },
})
export type PolicySetResource = Written<typeof policySetSchema>

/** Why a set applies to a workspace, or is excluded from it. */
const scopeReason = z.strictObject({
  scope: z.enum(['organization', 'project', 'workspace', 'tag']).describe('`organization` for a global set'),
  'tag-key': nullable.string.describe('that of the matching tag selector; null for other scopes'),
  'tag-value': nullable.string.describe('that of the selector; null for any'),
})

export const appliedPolicySetSchema = resource('applied-policy-sets', {
  attributes: {
    name: z.string(),
    description: z.string(),
    status: z
      .enum(['applied', 'excluded', 'empty'])
      .describe('`empty` has no policies yet. Only the policies of `applied` ones are evaluated'),
    overridable: z.boolean(),
    'mandatory-count': z.int().describe('number of policies that stop a run'),
    'advisory-count': z.int(),
    reasons: z.array(scopeReason).describe('all that select the workspace'),
    exclusions: z.array(scopeReason).describe('all that exclude it; they take precedence'),
  },
  relationships: { 'policy-set': hasOne('policy-sets') },
})
export type AppliedPolicySetResource = Written<typeof appliedPolicySetSchema>

const versionPolicy = z.strictObject({
  name: z.string(),
  query: z.string(),
  'enforcement-level': z.enum(['advisory', 'mandatory']),
  description: z.string(),
})

export const policySetVersionSchema = resource('policy-set-versions', {
  attributes: {
    source: z.string().describe('`tfe-api` for an upload, otherwise the kind of host of its repository'),
    status: z.enum(POLICY_SET_VERSION_STATUS),
    'status-timestamps': statusTimestamps,
    error: nullable.string.describe('`invalid_archive`, `invalid_policies` or `upload_expired`; null without an error'),
    'error-message': nullable.string,
    'ingress-attributes': z
      .strictObject({ 'commit-sha': z.string(), 'commit-url': z.string(), identifier: z.string() })
      .nullable()
      .describe('the commit that it comes from; null for an upload'),
    'created-at': timestamp,
    'updated-at': timestamp,
    policies: z.array(versionPolicy).describe('our own: as in `policies.hcl`; empty until the version is ready'),
  },
  relationships: {
    'policy-set': hasOne('policy-sets'),
    'created-by': hasOne('users').describe('our own: null for a version from a repository'),
  },
  links: {
    self: z.string(),
    upload: z
      .string()
      .optional()
      .describe(
        'for the archive, a tar.gz; needs no token. Only while it is pending, for those who may manage policies',
      ),
  },
})
export type PolicySetVersionResource = Written<typeof policySetVersionSchema>

const parameter = z.object({
  key: z
    .string()
    .min(1, "key can't be blank")
    .max(255)
    .refine((key) => /^[A-Za-z0-9_-]+$/.test(key), {
      error: ({ input }) =>
        `key is ${JSON.stringify(input)}; it may only contain letters, numbers, underscores and hyphens`,
    }),
  value: variableValue.nullish(),
  category: z.literal('policy-set', 'category must be policy-set').optional(),
  sensitive: z.boolean().nullish(),
})
export const createPolicySetParameterBody = requestBody('vars', parameter)
export const updatePolicySetParameterBody = requestBody('vars', parameter.partial())
export type CreatePolicySetParameter = z.infer<typeof parameter>
export type UpdatePolicySetParameter = Partial<CreatePolicySetParameter>

export const policySetParameterSchema = linkedResource('vars', {
  name: 'PolicySetParameter',
  attributes: {
    key: z.string().describe('policies read its value as `data.parameters.<key>`'),
    value: nullable.string.describe('null when `sensitive`: sensitive values are write-only'),
    sensitive: z.boolean(),
    category: z.literal('policy-set'),
  },
  relationships: { configurable: hasOne('policy-sets') },
})
export type PolicySetParameterResource = Written<typeof policySetParameterSchema>
