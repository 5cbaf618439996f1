import { z } from 'zod'
import { requestBody, toOne } from './json-api.ts'
import { type Written, hasMany, hasOne, linkedResource, nullable, timestamp } from './responses.ts'

/** Transitions: INTERFACE §4.2.1. The last two exist in the self-managed edition only. */
export const STATE_VERSION_STATUSES = [
  'pending',
  'finalized',
  'discarded',
  'backing_data_soft_deleted',
  'backing_data_permanently_deleted',
] as const
export type StateVersionStatus = (typeof STATE_VERSION_STATUSES)[number]

/** It may be megabytes long, so its alphabet is checked when it is decoded. */
const base64 = z.string().meta({ contentEncoding: 'base64' }).nullish()

const attributes = z.object({
  serial: z.int().min(0),
  md5: z
    .string()
    .regex(/^[0-9a-fA-F]{32}$/, 'it must be 32 hexadecimal digits')
    .transform((text) => text.toLowerCase()),
  lineage: z.string().max(1000).nullish(),
  /** Absent when it will be uploaded. */
  state: base64,
  /** The output of `terraform show -json` for the state. */
  'json-state': base64,
  /** The outputs in the format of `terraform show -json`. */
  'json-state-outputs': base64,
  /** Set by `terraform state push -force`. */
  force: z.boolean().nullish(),
  /** A snapshot during an apply; the last one becomes current when the workspace is unlocked. */
  intermediate: z.boolean().nullish(),
})

export const createStateVersionBody = requestBody(
  z.literal('state-versions'),
  attributes,
  z.object({ run: toOne('runs').optional() }),
)
export type CreateStateVersion = z.infer<typeof createStateVersionBody>['data']

export const rollbackStateVersionBody = requestBody(
  z.literal('state-versions'),
  z.object({}),
  z.object({ 'rollback-state-version': toOne('state-versions') }),
)
export type RollbackStateVersion = z.infer<typeof rollbackStateVersionBody>['data']

const DAYS = 'delete-older-than-n-days'

/** May be missing, empty, or without `type`. Days in another place are refused, since content would be deleted earlier than requested. */
export const softDeleteBody = z
  .looseObject({
    data: z
      .looseObject({
        attributes: z
          .object({ [DAYS]: z.int().min(0).max(36_500).nullish() })
          .nullish()
          .transform((value) => value ?? {}),
      })
      .nullish(),
  })
  .superRefine((body, context) => {
    const expected = `${DAYS} belongs in data.attributes`
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
    if (DAYS in (body.data ?? {})) refuse(['data', DAYS], expected)
    else if (body.data && DAYS in body) refuse([DAYS], expected)
    else if (!body.data && Object.keys(body).some((name) => name !== 'data'))
      refuse(['data'], `data is missing: ${expected}`)
  })
  .nullish()
  .transform((body) => body?.data?.attributes[DAYS] ?? undefined)

export const listedStatus = z.enum(['pending', 'finalized', 'discarded'])

/** A value that the server stores as JSON and copies into the response unchanged. */
function storedJson<Value extends z.ZodType>(value: Value) {
  return z.codec(value, z.custom<z.output<Value> | { toJSON: () => unknown }>(), {
    decode: (parsed) => parsed,
    encode: (stored) => JSON.parse(JSON.stringify(stored)) as z.output<Value>,
  })
}

/** The number of instances by type, such as `{"null-resource": 2, "data.terraform-remote-state": 1}`. */
const typeCounts = z.record(z.string(), z.int())
const SIGNED_URL = 'signed, and needs no token'
const DOWNLOAD_URL = `${SIGNED_URL}; expires after ten minutes`
const UPLOAD_URL = `${SIGNED_URL}; expires after 25 hours`

export const stateVersionSchema = linkedResource('state-versions', {
  attributes: {
    'created-at': timestamp,
    size: z.int().describe('of the raw state, in bytes'),
    'billable-rum-count': z
      .int()
      .optional()
      .describe('billable managed resources; present for members who may see the usage of a standard plan'),
    'hosted-state-download-url': nullable.string.describe(`the raw state; ${DOWNLOAD_URL}`),
    'hosted-json-state-download-url': nullable.string.describe(
      `the state as \`show -json\` prints it, if it was uploaded; ${DOWNLOAD_URL}`,
    ),
    'hosted-state-upload-url': nullable.string.describe(
      `null unless the raw state is still to be uploaded and the caller may write it; ${UPLOAD_URL}`,
    ),
    'hosted-json-state-upload-url': nullable.string.describe(
      `null unless the JSON state is still to be uploaded and the caller may write it; ${UPLOAD_URL}`,
    ),
    modules: storedJson(z.record(z.string(), typeCounts)).describe('counts of instances by module and type'),
    providers: storedJson(z.record(z.string(), typeCounts)).describe('counts of instances by provider and type'),
    resources: storedJson(
      z.array(
        z.strictObject({
          name: z.string(),
          type: z.string(),
          count: z.int().describe('number of instances'),
          tainted: z.int().optional().describe('our own: number of tainted instances; absent for none'),
          module: z.string().describe('`root`, or the address of the module'),
          provider: z.string(),
        }),
      ),
    ),
    'resources-processed': z
      .boolean()
      .describe('whether outputs, modules, providers and resources have been extracted from the state'),
    'resource-count': z.int().describe('our own: instances of managed resources; 0 until `resources-processed`'),
    intermediate: z.boolean().describe('whether it is a snapshot stored during an apply'),
    serial: z.int(),
    lineage: nullable.string.describe('our own: of the raw state'),
    md5: nullable.string.describe('our own: of the raw state, in hexadecimal'),
    'restorable-until': nullable.time.describe(
      'our own: when soft-deleted data is deleted permanently; null in every other status',
    ),
    'state-version': nullable.int.describe('version of the state format; null when the state could not be read'),
    status: z.enum(STATE_VERSION_STATUSES),
    'engine-version': nullable.string.describe('our own: the version of the engine that wrote the state'),
    'terraform-version': nullable.string.describe('the same as `engine-version`, under the name that clients read'),
    'vcs-commit-sha': nullable.string.optional(),
    'vcs-commit-url': nullable.string.optional(),
    'delete-older-than-n-days': z
      .int()
      .optional()
      .describe('only in the response to a soft delete: the requested number of days'),
    permissions: z
      .strictObject({ 'can-delete-backing-data': z.boolean() })
      .describe('our own: whether the caller may delete and restore state data'),
  },
  relationships: {
    run: hasOne('runs'),
    'created-by': hasOne('users'),
    workspace: hasOne('workspaces'),
    outputs: hasMany('state-version-outputs'),
    'rollback-state-version': hasOne('state-versions').optional().describe('the version that this one is a copy of'),
  },
})
export type StateVersionResource = Written<typeof stateVersionSchema>
