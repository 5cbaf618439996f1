import { z } from 'zod'
import { type Written, hasOne, nullable, resource } from './responses.ts'

const action = z.enum(['added', 'changed', 'removed'])
const counts = z.strictObject({ added: z.int(), changed: z.int(), removed: z.int() })

const summary = z.strictObject({
  serial: nullable.int,
  lineage: nullable.string,
  'engine-version': nullable.string,
})

const changes = z.array(
  z.strictObject({
    path: z.string().describe('such as `ebs[0].size`; empty for the whole value'),
    action,
    sensitive: z.boolean().describe('when true, both values are hidden'),
    before: z.unknown().optional().describe('any JSON; absent when it was added'),
    after: z.unknown().optional().describe('any JSON; absent when it was removed'),
  }),
)

const changedResource = z.strictObject({
  address: z.string(),
  module: z.string().describe('`root`, or the address of the module'),
  type: z.string(),
  name: z.string(),
  action,
  provider: z
    .strictObject({ before: z.string(), after: z.string() })
    .optional()
    .describe('present when the provider changed'),
  tainted: z
    .strictObject({ before: z.boolean(), after: z.boolean() })
    .optional()
    .describe('present when the tainted flag changed'),
  attributes: changes,
})

const changedOutput = z.strictObject({ name: z.string(), action, sensitive: z.boolean(), attributes: changes })

/** The changes between two state versions of a workspace. Not part of the public API. */
export const stateVersionDiffSchema = resource('state-version-diffs', {
  attributes: {
    from: summary.nullable().describe('null when there is no earlier version'),
    to: summary,
    counts: z
      .strictObject({ resources: counts, outputs: counts })
      .describe('counts of all changes, including those left out'),
    resources: z.array(changedResource),
    outputs: z.array(changedOutput),
    truncated: z.boolean().describe('whether changes were left out because there are too many'),
  },
  relationships: { from: hasOne('state-versions'), to: hasOne('state-versions') },
})
export type StateVersionDiffResource = Written<typeof stateVersionDiffSchema>
