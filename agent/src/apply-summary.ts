import { stripVTControlCharacters } from 'node:util'
import type { FinishJob } from '@groundstate/contract/agent'

const SUMMARY = /(?:Apply|Destroy) complete! Resources: ([^.]*)\./

/** What an apply did, if these lines of its output say so: the line is the same in both formats. */
export function readApplySummary(lines: Buffer): FinishJob['counts'] {
  if (!lines.includes('complete! Resources:')) return undefined
  const list = SUMMARY.exec(stripVTControlCharacters(lines.toString()))?.[1]
  if (list === undefined) return undefined
  const count = (verb: string) => Number(new RegExp(`(\\d+) ${verb}`).exec(list)?.[1] ?? 0)
  return {
    additions: count('added'),
    changes: count('changed'),
    destructions: count('destroyed'),
    imports: count('imported'),
  }
}
