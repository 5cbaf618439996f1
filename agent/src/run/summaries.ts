import { stripVTControlCharacters } from 'node:util'
import type { FinishJob } from '@groundstate/contract/agent'
import { z } from 'zod'
import { parseJson } from '../server/connection.ts'

type Counts = FinishJob['counts']

const changeSummary = z.object({
  type: z.literal('change_summary'),
  changes: z
    .object({
      operation: z.literal('plan'),
      add: z.int(),
      change: z.int(),
      remove: z.int(),
      import: z.int().default(0),
    })
    .transform(({ add, change, remove, ...rest }) => {
      return { additions: add, changes: change, destructions: remove, imports: rest.import }
    }),
})

export function readPlanSummary(lines: Buffer): Counts {
  if (lines.includes('"change_summary"')) {
    const messages = lines.toString().split('\n').map(parseJson)
    return messages.flatMap((message) => changeSummary.safeParse(message).data ?? []).at(-1)?.changes
  }
  if (!lines.includes('Plan:')) return undefined
  // Only at the start of a line: attribute values are indented, and diagnostics have a bar.
  return readCounts(lines, /^Plan: (\d.*)\.$/gm, ['to add', 'to change', 'to destroy', 'to import'])
}

/** Reads the summary of an apply in these lines of its output; the line is the same in both formats. */
export function readApplySummary(lines: Buffer): Counts {
  if (!lines.includes('complete! Resources:')) return undefined
  const summary = /(?:Apply|Destroy) complete! Resources: ([^.]*)\./g
  return readCounts(lines, summary, ['added', 'changed', 'destroyed', 'imported'])
}

function readCounts(lines: Buffer, summary: RegExp, verbs: readonly string[]): Counts {
  const list = [...stripVTControlCharacters(lines.toString()).matchAll(summary)].at(-1)?.[1]
  if (list === undefined) return undefined
  const [additions = 0, changes = 0, destructions = 0, imports = 0] = verbs.map((verb) =>
    Number(new RegExp(`(\\d+) ${verb}`).exec(list)?.[1] ?? 0),
  )
  return { additions, changes, destructions, imports }
}
