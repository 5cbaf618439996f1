import { median, percentile } from './load.ts'
import type { BenchRow } from './target.ts'

/** Ratios of two trees below this are marked. */
const FLOOR = 0.97

/** Required ratios of the current change over the previous commit; edit them for the next change. */
const GOALS: Record<string, number> = {
  'state created inline, 2 KB, 16 clients': 1.3,
  'lock and unlock, pairs': 1.3,
  'workspace created': 1.6,
}

/** A row with its committed value. */
export function row(measured: BenchRow, last: number | undefined) {
  const { name, value, unit } = measured
  const change = last === undefined ? '' : `was ${last} (×${(value / last).toFixed(2)})`
  return `${name.padEnd(70)} ${figure(value, unit)}   ${budgetOf(measured).padEnd(22)} ${change}`.trimEnd()
}

/**
 * A row of both trees. The ratio is above 1 if this tree is better; half of the samples are within ± of it.
 */
export function pairedRow(measured: BenchRow, other: BenchRow | undefined) {
  const { name, value, unit } = measured
  const theirs = other ? figure(other.value, unit) : ''.padStart(14)
  const ratios = other ? ratiosOf(measured, other) : []
  const ratio = ratios.length > 0 ? median(ratios) : undefined
  const goal = GOALS[name]
  const target = goal === undefined ? budgetOf(measured) : `≥ ×${goal} ${mark((ratio ?? 0) >= goal)}`
  const slower = ratio !== undefined && ratio < FLOOR ? `below ×${FLOOR}` : ''
  const shown = ratio === undefined ? '' : `×${ratio.toFixed(2)}`
  const spread = ratios.length > 1 ? `±${((percentile(ratios, 0.75) - percentile(ratios, 0.25)) / 2).toFixed(2)}` : ''
  return `${name.padEnd(70)} ${figure(value, unit)} ${theirs} ${shown.padStart(8)} ${spread.padEnd(6)} ${target.padEnd(16)} ${slower}`.trimEnd()
}

export const PAIRED_HEADING = `${''.padEnd(70)} ${'this tree'.padStart(14)} ${'the other'.padStart(14)} ${'ratio'.padStart(8)}`

/** A ratio for each pair of concurrent samples, or one for the row; none if a value is 0. */
function ratiosOf(ours: BenchRow, theirs: BenchRow) {
  if (ours.value === 0 || theirs.value === 0) return []
  const isPaired = ours.samples !== undefined && ours.samples.length === theirs.samples?.length
  const own = isPaired ? (ours.samples ?? []) : [ours.value]
  const other = isPaired ? (theirs.samples ?? []) : [theirs.value]
  return own
    .map((value, index) => value / (other[index] ?? Number.NaN))
    .map((ratio) => (ours.better === 'more' ? ratio : 1 / ratio))
    .filter(Number.isFinite)
}

function budgetOf({ value, unit, better, budget }: BenchRow) {
  if (budget === undefined) return ''
  return `${better === 'less' ? '≤' : '≥'} ${budget} ${unit} ${mark(better === 'less' ? value <= budget : value >= budget)}`
}

function mark(isMet: boolean) {
  return isMet ? '✓' : '✗'
}

function figure(value: number, unit: string) {
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`.padStart(14)
}
