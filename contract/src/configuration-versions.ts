import { z } from 'zod'
import { requestBody } from './json-api.ts'

const attributes = z.object({
  /** Whether a run starts as soon as the archive is there; true when it is not said. */
  'auto-queue-runs': z.boolean().nullish(),
  /** Runs of it can only plan. */
  speculative: z.boolean().nullish(),
  /** It becomes the workspace's configuration only once it is applied. */
  provisional: z.boolean().nullish(),
})
export type CreateConfigurationVersion = z.infer<typeof attributes>

const NOTHING_SAID = { data: { type: 'configuration-versions', attributes: {} } } as const

/** Clients that want the defaults send no body at all. */
export const createConfigurationVersionBody = z.preprocess(
  (body) => body ?? NOTHING_SAID,
  requestBody('configuration-versions', attributes),
)
