import { z } from 'zod'
import { boundedList, requestBody } from './json-api.ts'
import { type Written, hasMany, hasOne, linkedResource, linksToMany, resource, timestamp } from './responses.ts'
import { tagBindingsRelation } from './tags.ts'

export const REGISTRY_NAMES = ['private', 'public'] as const
export type RegistryName = (typeof REGISTRY_NAMES)[number]

/** Terraform takes lower-case letters, digits, `-` and `_` in an address, and finds names whatever their case. */
const PART = /^[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?$/
const PART_RULE = 'may only contain letters, numbers, - and _, and must begin and end with a letter or number'

function addressPart(label: string) {
  return z
    .string(`${label} can't be blank`)
    .min(1, `${label} can't be blank`)
    .max(64, 'at most 64 characters')
    .regex(PART, `${label} is invalid: it ${PART_RULE}`)
}

export const createRegistryProviderBody = requestBody(
  'registry-providers',
  z.object({
    name: addressPart('Name').refine((name) => !name.startsWith('terraform-provider-'), {
      error: 'Name is invalid: leave out the prefix terraform-provider-, which Terraform rejects in an address',
    }),
    namespace: addressPart('Namespace').describe('for a private provider the name of the organization'),
    'registry-name': z.string().max(100).nullish().describe('`private` or `public`'),
  }),
)
export type CreateRegistryProvider = z.infer<typeof createRegistryProviderBody>['data']['attributes']

/** Existing clients send an empty type. */
function emptyOr(type: string) {
  return z.literal([type, '']).default(type)
}

export const updateRegistryProviderBody = requestBody(
  emptyOr('registry-providers'),
  z.object({}),
  z.object({ 'tag-bindings': tagBindingsRelation }),
)
export type UpdateRegistryProvider = z.infer<typeof updateRegistryProviderBody>['data']

const PROTOCOL = /^\d{1,3}\.\d{1,3}$/

export const createRegistryProviderVersionBody = requestBody(
  emptyOr('registry-provider-versions'),
  z.object({
    version: z.string().min(1, "Version can't be blank").max(128, 'at most 128 characters'),
    'key-id': z
      .string()
      .min(1, "Key can't be blank")
      .max(64, 'at most 64 characters')
      .describe('the `key-id` of the GPG key that signs SHA256SUMS'),
    protocols: boundedList(z.string().regex(PROTOCOL, 'a protocol has the form 5.0'), 16)
      .nullish()
      .describe('versions of the plugin protocol; `5.0` by default'),
  }),
)
export type CreateRegistryProviderVersion = z.infer<typeof createRegistryProviderVersionBody>['data']['attributes']

function platformPart(label: string) {
  return z
    .string()
    .min(1, `${label} can't be blank`)
    .max(32, 'at most 32 characters')
    .regex(/^[a-z0-9_]+$/, `${label} is invalid: it may only contain lower-case letters, numbers and _`)
}

export const createRegistryProviderPlatformBody = requestBody(
  emptyOr('registry-provider-platforms'),
  z.object({
    os: platformPart('OS'),
    arch: platformPart('Arch'),
    shasum: z.string().min(1, "Shasum can't be blank").max(64, 'at most 64 characters: it is a SHA-256 in hexadecimal'),
    filename: z
      .string()
      .min(1, "Filename can't be blank")
      .max(255, 'at most 255 characters')
      .regex(
        /^[A-Za-z0-9_+-][A-Za-z0-9._+-]*$/,
        'Filename is invalid: it may only contain letters, numbers and . _ + -',
      ),
  }),
)
export type CreateRegistryProviderPlatform = z.infer<typeof createRegistryProviderPlatformBody>['data']['attributes']

const times = { 'created-at': timestamp, 'updated-at': timestamp }

export const registryProviderSchema = linkedResource('registry-providers', {
  attributes: {
    name: z.string(),
    namespace: z.string(),
    'registry-name': z.enum(REGISTRY_NAMES),
    'workspace-count': z.int().describe('our own: workspaces that use it'),
    permissions: z.strictObject({
      'can-delete': z.boolean(),
      'can-upload-asset': z.boolean().describe('our own: whether versions can be added'),
    }),
    ...times,
  },
  relationships: {
    organization: hasOne('organizations'),
    'registry-provider-versions': linksToMany('registry-provider-versions'),
  },
})
export type RegistryProviderResource = Written<typeof registryProviderSchema>

export const registryProviderVersionSchema = resource('registry-provider-versions', {
  attributes: {
    version: z.string(),
    'key-id': z.string(),
    protocols: z.array(z.string()),
    'shasums-uploaded': z.boolean(),
    'shasums-sig-uploaded': z.boolean(),
    'is-available': z
      .boolean()
      .describe(
        'our own: whether `terraform init` finds the version: SHA256SUMS is signed, and a platform is uploaded',
      ),
    permissions: z.strictObject({ 'can-delete': z.boolean(), 'can-upload-asset': z.boolean() }),
    ...times,
  },
  relationships: {
    'registry-provider': hasOne('registry-providers'),
    platforms: hasMany('registry-provider-platforms'),
  },
  links: {
    self: z.string(),
    'shasums-upload': z.string().optional().describe('present until the file is uploaded, for those who may upload'),
    'shasums-sig-upload': z.string().optional(),
    'shasums-download': z.string().optional().describe('present once the file is uploaded'),
    'shasums-sig-download': z.string().optional(),
  },
})
export type RegistryProviderVersionResource = Written<typeof registryProviderVersionSchema>

export const registryProviderPlatformSchema = resource('registry-provider-platforms', {
  attributes: {
    os: z.string(),
    arch: z.string(),
    filename: z.string(),
    shasum: z.string(),
    'provider-binary-uploaded': z.boolean(),
    size: z.int().nullable().describe('our own: size of the archive, in bytes; null before it is uploaded'),
    permissions: z.strictObject({ 'can-delete': z.boolean(), 'can-upload-asset': z.boolean() }),
  },
  relationships: { 'registry-provider-version': hasOne('registry-provider-versions') },
  links: {
    self: z.string(),
    'provider-binary-upload': z
      .string()
      .optional()
      .describe('present until the file is uploaded, for those who may upload'),
    'provider-binary-download': z.string().optional().describe('present once the file is uploaded'),
  },
})
export type RegistryProviderPlatformResource = Written<typeof registryProviderPlatformSchema>

/** Versions as `terraform init` reads them (public documentation: provider registry protocol). */
export const providerVersionsResponse = z.strictObject({
  versions: z.array(
    z.strictObject({
      version: z.string(),
      protocols: z.array(z.string()),
      platforms: z.array(z.strictObject({ os: z.string(), arch: z.string() })),
    }),
  ),
})
export type ProviderVersionsResponse = Written<typeof providerVersionsResponse>

/** A package for one platform, and the key that signs its checksum (public documentation: provider registry protocol). */
export const providerDownloadResponse = z.strictObject({
  protocols: z.array(z.string()),
  os: z.string(),
  arch: z.string(),
  filename: z.string(),
  download_url: z.string(),
  shasum: z.string(),
  shasums_url: z.string(),
  shasums_signature_url: z.string(),
  signing_keys: z.strictObject({
    gpg_public_keys: z.array(
      z.strictObject({
        key_id: z.string(),
        ascii_armor: z.string(),
        trust_signature: z.string(),
        source: z.string(),
        source_url: z.string().nullable(),
      }),
    ),
  }),
})
export type ProviderDownloadResponse = Written<typeof providerDownloadResponse>
