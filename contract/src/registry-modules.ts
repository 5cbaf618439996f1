import { z } from 'zod'
import { optionalId, requestBody } from './json-api.ts'
import { vcsRepoSchema } from './oauth-clients.ts'
import { executionMode } from './organizations.ts'
import { REGISTRY_NAMES } from './registry-providers.ts'
import {
  type Written,
  hasMany,
  hasOne,
  linkedResource,
  nullable,
  resource,
  timestamp,
  wholeListOf,
} from './responses.ts'
import { tagBindingsRelation } from './tags.ts'

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$/
const PROVIDER = /^[A-Za-z0-9]{1,64}$/

function shown(value: unknown) {
  return JSON.stringify(typeof value === 'string' ? value.slice(0, 100) : value)
}

export const moduleName = z
  .string("Name can't be blank")
  .min(1, { error: "Name can't be blank", abort: true })
  .regex(NAME, {
    error: ({ input }) =>
      `Name is invalid: ${shown(input)} may only have up to 64 letters, digits, - and _, and begin and end with a letter or digit`,
  })
export const moduleProvider = z
  .string("Provider can't be blank")
  .min(1, { error: "Provider can't be blank", abort: true })
  .regex(PROVIDER, {
    error: ({ input }) => `Provider is invalid: ${shown(input)} may only have up to 64 letters and digits, as in aws`,
  })
const namespace = z.string().regex(NAME, {
  error: ({ input }) => `Namespace is invalid: ${shown(input)} may only have up to 64 letters, digits, - and _`,
})

const NUMBER = String.raw`(?:0|[1-9]\d{0,8})`
const IDENTIFIERS = String.raw`[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*`
const SEMANTIC_VERSION = new RegExp(`^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${IDENTIFIERS})?(?:\\+${IDENTIFIERS})?$`)

/** Whether a text is a version as the registry publishes it (semver.org): `x.y.z`, possibly with a pre-release and metadata. */
export function isModuleVersion(text: string) {
  return text.length <= 128 && SEMANTIC_VERSION.test(text)
}

export const moduleVersion = z
  .string("Version can't be blank")
  .max(128, 'at most 128 characters')
  .min(1, { error: "Version can't be blank", abort: true })
  .refine(isModuleVersion, {
    error: ({ input }) => `Version is invalid: ${shown(input)} must have the form x.y.z, such as 1.2.0 or 1.2.0-beta.1`,
  })

const testConfig = z.object({
  'tests-enabled': z
    .boolean()
    .refine((value) => !value, {
      error: 'tests-enabled must be false: running the tests of a module is not supported by this server',
    })
    .nullish(),
  'agent-execution-mode': executionMode.exclude(['local']).nullish(),
  'agent-pool-id': optionalId,
})

/** The repository of a module; in an update, absent members keep their values. */
const moduleRepo = z.object({
  identifier: z.string().min(1, "identifier can't be blank").max(1000).nullish(),
  'display-identifier': z.string().max(1000).nullish(),
  'oauth-token-id': optionalId,
  'github-app-installation-id': optionalId,
  /** Clients that create a module without an organization in the path name it here. */
  'organization-name': z.string().max(255).nullish(),
  branch: z.string().max(255).nullish(),
  tags: z.boolean().nullish(),
  'source-directory': z.string().max(1000).nullish(),
  'tag-prefix': z.string().max(255).nullish(),
})
export type ModuleRepoInput = z.infer<typeof moduleRepo>

export const createRegistryModuleBody = requestBody(
  'registry-modules',
  z.object({
    name: moduleName,
    provider: moduleProvider,
    'registry-name': z.enum(REGISTRY_NAMES).nullish(),
    namespace: namespace.nullish().or(z.literal('')),
    'no-code': z.boolean().nullish(),
  }),
)
export type CreateRegistryModule = z.infer<typeof createRegistryModuleBody>['data']['attributes']

export const connectRegistryModuleBody = requestBody(
  'registry-modules',
  z.object({
    /** By default those of a repository named `terraform-<provider>-<name>`. */
    name: moduleName.nullish(),
    provider: moduleProvider.nullish(),
    'vcs-repo': moduleRepo.extend({ identifier: z.string("identifier can't be blank").min(1).max(1000) }),
    'initial-version': moduleVersion.nullish(),
    'test-config': testConfig.nullish(),
    'no-code': z.boolean().nullish(),
  }),
)
export type ConnectRegistryModule = z.infer<typeof connectRegistryModuleBody>['data']['attributes']

export const updateRegistryModuleBody = requestBody(
  'registry-modules',
  z.object({
    'no-code': z.boolean().nullish(),
    'vcs-repo': moduleRepo.nullish(),
    'test-config': testConfig.nullish(),
  }),
  z.object({ 'tag-bindings': tagBindingsRelation }),
)
export type UpdateRegistryModule = z.infer<typeof updateRegistryModuleBody>['data']

export const createModuleVersionBody = requestBody(
  'registry-module-versions',
  z.object({
    version: moduleVersion,
    'commit-sha': z
      .string()
      .regex(/^[0-9a-f]{7,64}$/i, 'commit-sha must be 7 to 64 hexadecimal digits')
      .nullish()
      .or(z.literal('')),
  }),
)
export type CreateModuleVersion = z.infer<typeof createModuleVersionBody>['data']['attributes']

export const MODULE_STATUSES = ['pending', 'no_version_tags', 'setup_failed', 'setup_complete'] as const
export const MODULE_VERSION_STATUSES = [
  'pending',
  'cloning',
  'clone_failed',
  'reg_ingress_req_failed',
  'reg_ingressing',
  'reg_ingress_failed',
  'ok',
] as const
export const PUBLISHING_MECHANISMS = ['branch', 'git_tag', 'non_vcs'] as const

const moduleRepoSchema = vcsRepoSchema.omit({ 'tags-regex': true, tags: true }).extend({
  tags: z.boolean().describe('whether tags of the repository publish versions, not a branch'),
  'source-directory': nullable.string,
  'tag-prefix': nullable.string,
})

export const registryModuleSchema = linkedResource('registry-modules', {
  attributes: {
    name: z.string(),
    namespace: z.string().describe('of a private module, the name of its organization'),
    provider: z.string(),
    'registry-name': z.enum(REGISTRY_NAMES),
    status: z.enum(MODULE_STATUSES),
    'publishing-mechanism': z.enum(PUBLISHING_MECHANISMS),
    'no-code': z.boolean().describe('stored, without effect on this server'),
    'version-statuses': z
      .array(
        z.strictObject({
          version: z.string(),
          status: z.enum(MODULE_VERSION_STATUSES),
          error: z.string().optional(),
        }),
      )
      .describe('all versions, latest first'),
    'latest-version': nullable.string.describe(
      'our own: the highest published version that is not a pre-release, else the highest',
    ),
    'vcs-repo': moduleRepoSchema.nullable(),
    'workspace-count': z.int().describe('our own: workspaces that use it'),
    'test-config': z
      .strictObject({
        'tests-enabled': z.boolean().describe('always false: not supported by this server'),
        'agent-execution-mode': z.string(),
        'agent-pool-id': nullable.string,
      })
      .nullable(),
    permissions: z.strictObject({ 'can-delete': z.boolean(), 'can-resync': z.boolean(), 'can-retry': z.boolean() }),
    'created-at': timestamp,
    'updated-at': timestamp,
  },
  relationships: {
    organization: hasOne('organizations'),
    'no-code-modules': hasMany('no-code-modules').describe('one for a module whose `no-code` is true'),
  },
})
export type RegistryModuleResource = Written<typeof registryModuleSchema>

export const registryModuleVersionSchema = resource('registry-module-versions', {
  attributes: {
    version: z.string(),
    status: z.enum(MODULE_VERSION_STATUSES),
    error: nullable.string.describe('our own: why the archive was rejected'),
    source: z.enum(['tfe-api', 'vcs']),
    'commit-sha': nullable.string,
    size: nullable.int.describe('our own: size of the archive, in bytes'),
    'created-at': timestamp,
    'updated-at': timestamp,
  },
  relationships: { 'registry-module': hasOne('registry-modules') },
  links: {
    self: z.string(),
    upload: z.string().optional().describe('for an archive, a tar.gz; needs no token. Present until it is uploaded'),
  },
})
export type RegistryModuleVersionResource = Written<typeof registryModuleVersionSchema>

/** A commit of the repository of a module. */
export const moduleCommitSchema = resource('commit', {
  attributes: {
    sha: z.string(),
    date: timestamp.describe('when it was written'),
    url: z.string().describe('its page on the host; empty if the host has none'),
    author: z.string(),
    'author-avatar-url': z.string().describe('always empty: git does not know it'),
    'author-html-url': z.string().describe('always empty: git does not know it'),
    message: z.string().describe('at most 4000 characters'),
  },
})
export type ModuleCommitResource = Written<typeof moduleCommitSchema>

/** Our own: a workspace and the version of a module or provider that its latest run used. */
export const registryUsageSchema = resource('registry-usages', {
  attributes: {
    'workspace-name': z.string(),
    version: nullable.string.describe('null for a provider that is known only from the state'),
    'used-at': timestamp,
  },
  relationships: { workspace: hasOne('workspaces') },
})
const usages = wholeListOf(registryUsageSchema)
export const registryUsagesResponse = usages.extend({
  meta: usages.shape.meta.extend({
    'hidden-count': z.int().describe('workspaces that the caller may not see'),
    'hidden-versions': z.array(z.strictObject({ version: nullable.string, 'workspace-count': z.int() })),
  }),
})
export type RegistryUsageResource = Written<typeof registryUsageSchema>

/** The module registry protocol of the engines. */
export const moduleVersionsResponse = z.strictObject({
  modules: z.array(z.strictObject({ source: z.string(), versions: z.array(z.strictObject({ version: z.string() })) })),
})
export type ModuleVersionsResponse = Written<typeof moduleVersionsResponse>

const rootInput = z.strictObject({
  name: z.string(),
  type: z.string(),
  description: z.string(),
  default: z.string(),
  required: z.boolean(),
})
const providerDependency = z.strictObject({
  name: z.string(),
  namespace: z.string(),
  source: z.string(),
  version: z.string(),
})

/** The root of a module, read from its archive. */
export const moduleRootSchema = z.strictObject({
  path: z.string(),
  name: z.string(),
  readme: z.string(),
  empty: z.boolean(),
  inputs: z.array(rootInput),
  outputs: z.array(z.strictObject({ name: z.string(), description: z.string() })),
  provider_dependencies: z.array(providerDependency),
  dependencies: z.array(z.strictObject({ name: z.string(), source: z.string(), version: z.string() })),
  resources: z.array(z.strictObject({ name: z.string(), type: z.string() })),
})
export type ModuleRoot = Written<typeof moduleRootSchema>

const listedModule = {
  id: z.string().describe('namespace/name/provider/version'),
  owner: z.string(),
  namespace: z.string(),
  name: z.string(),
  version: z.string(),
  provider: z.string(),
  provider_logo_url: z.string(),
  description: z.string(),
  source: z.string(),
  tag: z.string(),
  published_at: timestamp,
  downloads: z.int().describe('always 0: downloads are not counted'),
  verified: z.boolean().describe('always false: a private registry has no partners'),
}

export const terraformModuleSchema = z.strictObject({
  ...listedModule,
  root: moduleRootSchema,
  submodules: z.array(moduleRootSchema),
  examples: z.array(moduleRootSchema),
  providers: z.array(z.string()).describe('of all modules of the name'),
  versions: z.array(z.string()),
})
export type TerraformModule = Written<typeof terraformModuleSchema>

export const terraformModulesResponse = z.strictObject({
  meta: z.strictObject({
    limit: z.int(),
    current_offset: z.int(),
    next_offset: z.int().optional().describe('absent at the end'),
    prev_offset: z.int().optional().describe('absent at the start'),
    next_url: z.string().optional(),
  }),
  modules: z.array(z.strictObject(listedModule)),
})
export type TerraformModulesResponse = Written<typeof terraformModulesResponse>
