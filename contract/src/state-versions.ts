import { z } from 'zod'
import { requestBody, toOne, toOneOrNone } from './json-api.ts'

/** Moves between them: specification §3.1. The last two exist in the self-managed edition only. */
export const STATE_VERSION_STATUSES = [
  'pending',
  'finalized',
  'discarded',
  'backing_data_soft_deleted',
  'backing_data_permanently_deleted',
] as const
export type StateVersionStatus = (typeof STATE_VERSION_STATUSES)[number]

const attributes = z.object({
  serial: z.int().min(0),
  /** Of the raw state, in hex. */
  md5: z
    .string()
    .regex(/^[0-9a-fA-F]{32}$/, 'it must be 32 hexadecimal digits')
    .transform((text) => text.toLowerCase()),
  lineage: z.string().max(1000).nullish(),
  /** The raw state in base64; absent when it will be uploaded. Megabytes, so its alphabet is checked where it is decoded. */
  state: z.string().nullish(),
  /** `terraform show -json` of the state, in base64. */
  'json-state': z.string().nullish(),
  /** The outputs as `terraform show -json` has them, in base64. */
  'json-state-outputs': z.string().nullish(),
  /** `terraform state push -force`. */
  force: z.boolean().nullish(),
  /** A snapshot taken while work goes on: it becomes current when the workspace is unlocked. */
  intermediate: z.boolean().nullish(),
})

export const createStateVersionBody = requestBody(
  'state-versions',
  attributes,
  z.object({ run: toOneOrNone('runs').nullish() }),
)
export type CreateStateVersion = z.infer<typeof createStateVersionBody>['data']

export const rollbackStateVersionBody = requestBody(
  'state-versions',
  z.object({}),
  z.object({ 'rollback-state-version': toOne('state-versions') }),
)
export type RollbackStateVersion = z.infer<typeof rollbackStateVersionBody>['data']

const DAYS = 'delete-older-than-n-days'

/**
 * The body may be missing or empty, or be a document without `type`. The days in another place are refused: content would
 * be deleted sooner than was asked for.
 */
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
    const place = `${DAYS} stands in data.attributes`
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
    if (DAYS in (body.data ?? {})) refuse(['data', DAYS], place)
    else if (body.data && DAYS in body) refuse([DAYS], place)
    else if (!body.data && Object.keys(body).some((name) => name !== 'data'))
      refuse(['data'], `data is missing: ${place}`)
  })
  .nullish()
  .transform((body) => body?.data?.attributes[DAYS] ?? undefined)

/** The statuses that a list can be narrowed to. */
export const listedStatus = z.enum(['pending', 'finalized', 'discarded'])
