import { type ResourceCounts, resourceCounts } from '@groundstate/contract/agent'
import { z } from 'zod'
import { parseJson } from '../server/connection.ts'

const changeSummary = z.object({
  type: z.literal('change_summary'),
  changes: z
    .object({ operation: z.string(), add: z.int(), change: z.int(), remove: z.int(), import: z.int().default(0) })
    .transform(({ add, change, remove, operation, ...rest }) => {
      return { operation, counts: { additions: add, changes: change, destructions: remove, imports: rest.import } }
    }),
})

/** Engines call the apply of a destroy plan `destroy`. */
const OPERATIONS = { plan: ['plan'], apply: ['apply', 'destroy'] } as const

/**
 * Reads the summary of a phase in these lines of `-json` output, where the output of provisioners is inside messages of another type. In
 * human-readable output, the engine's own lines cannot be distinguished.
 */
export function readSummary(lines: Buffer, phase: 'plan' | 'apply'): ResourceCounts | undefined {
  if (!lines.includes('"change_summary"')) return undefined
  const messages = lines.toString().split('\n').map(parseJson)
  const summaries = messages.flatMap((message) => changeSummary.safeParse(message).data?.changes ?? [])
  const last = summaries.findLast(({ operation }) => OPERATIONS[phase].some((name) => name === operation))
  return resourceCounts.safeParse(last?.counts).data
}
