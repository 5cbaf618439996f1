import { z } from 'zod'
import { boundedList, requestBody } from './json-api.ts'
import { type Written, linkedResource, nullable, timestamp } from './responses.ts'

const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/

const version = z
  .string()
  .max(100)
  .refine((text) => VERSION.test(text), {
    error: ({ input }) => `${JSON.stringify(input)} is not a version of OPA: it must be like 1.4.2`,
  })

const url = z
  .string()
  .max(2000)
  .refine((text) => ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? ''), {
    error: ({ input }) => `url is ${JSON.stringify(input)}; it must be an http or https URL`,
  })

const sha = z
  .string()
  .max(64, 'sha must be the SHA-256 of the binary: 64 hexadecimal digits')
  .transform((text) => text.toLowerCase())
  .refine((text) => /^[0-9a-f]{64}$/.test(text), {
    error: 'sha must be the SHA-256 of the binary: 64 hexadecimal digits',
  })

export const OPA_SYSTEMS = ['linux', 'darwin', 'windows'] as const
export const OPA_ARCHITECTURES = ['amd64', 'arm64', 's390x'] as const

const arch = z.object({ url, sha: sha.nullish(), os: z.enum(OPA_SYSTEMS), arch: z.enum(OPA_ARCHITECTURES) })

const attributes = z.object({
  version,
  /** The binary for Linux on amd64; the older form of `archs`. */
  url: url.or(z.literal('')).nullish(),
  sha: sha.or(z.literal('')).nullish(),
  official: z.boolean().nullish(),
  enabled: z.boolean().nullish(),
  beta: z.boolean().nullish(),
  deprecated: z.boolean().nullish(),
  'deprecated-reason': z.string().max(1000).nullish(),
  archs: boundedList(arch, 20).nullish(),
})

export const createOpaVersionBody = requestBody('opa-versions', attributes)
export const updateOpaVersionBody = requestBody('opa-versions', attributes.partial())
export type CreateOpaVersion = z.infer<typeof attributes>
export type UpdateOpaVersion = Partial<CreateOpaVersion>

export const opaVersionSchema = linkedResource('opa-versions', {
  name: 'OpaVersion',
  attributes: {
    version: z.string(),
    url: nullable.string.describe('the binary for Linux on amd64; null if there is none'),
    sha: nullable.string.describe('its SHA-256; null if agents read the one published next to it'),
    deprecated: z.boolean(),
    'deprecated-reason': nullable.string,
    official: z.boolean().describe('whether it is a release of the Open Policy Agent project'),
    enabled: z.boolean(),
    beta: z.boolean(),
    usage: z.int().describe('number of policy sets that name this version'),
    'used-by': z
      .array(z.strictObject({ organization: z.string(), 'policy-set': z.string() }))
      .describe('our own: the first ten of these policy sets'),
    latest: z.boolean().describe('our own: whether sets with the version `latest` use this one'),
    'created-at': timestamp,
    archs: z.array(z.strictObject({ url: z.string(), sha: nullable.string, os: z.string(), arch: z.string() })),
  },
})
export type OpaVersionResource = Written<typeof opaVersionSchema>
