import { stripVTControlCharacters } from 'node:util'
import type { FinishJob } from '@groundstate/contract/agent'
import { z } from 'zod'
import { parseJson } from '../server/connection.ts'

/** Matches only at the start of a line: attribute values are indented, and diagnostics have a bar. */
const SUMMARY = /^Plan: (\d.*)\.$/gm

const message = z.object({
  type: z.literal('change_summary'),
  changes: z.object({
    operation: z.literal('plan'),
    add: z.int(),
    change: z.int(),
    remove: z.int(),
    import: z.int().default(0),
  }),
})

/** The summary of a plan in these lines of its output, in either format. */
export function readPlanSummary(lines: Buffer): FinishJob['counts'] {
  if (lines.includes('"change_summary"')) return readMessage(lines.toString())
  if (!lines.includes('Plan:')) return undefined
  const list = [...stripVTControlCharacters(lines.toString()).matchAll(SUMMARY)].at(-1)?.[1]
  if (list === undefined) return undefined
  const count = (verb: string) => Number(new RegExp(`(\\d+) to ${verb}`).exec(list)?.[1] ?? 0)
  return {
    additions: count('add'),
    changes: count('change'),
    destructions: count('destroy'),
    imports: count('import'),
  }
}

function readMessage(text: string): FinishJob['counts'] {
  const read = text.split('\n').flatMap((line) => message.safeParse(parseJson(line)).data ?? [])
  const changes = read.at(-1)?.changes
  if (changes === undefined) return undefined
  const { add: additions, change, remove: destructions, import: imports } = changes
  return { additions, changes: change, destructions, imports }
}

const APPLY_SUMMARY_SUMMARY = /(?:Apply|Destroy) complete! Resources: ([^.]*)\./

/** The summary of an apply in these lines of its output; the line is the same in both formats. */
export function readApplySummary(lines: Buffer): FinishJob['counts'] {
  if (!lines.includes('complete! Resources:')) return undefined
  const list = APPLY_SUMMARY_SUMMARY.exec(stripVTControlCharacters(lines.toString()))?.[1]
  if (list === undefined) return undefined
  const count = (verb: string) => Number(new RegExp(`(\\d+) ${verb}`).exec(list)?.[1] ?? 0)
  return {
    additions: count('added'),
    changes: count('changed'),
    destructions: count('destroyed'),
    imports: count('imported'),
  }
}
