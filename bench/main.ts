import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { memoryBenches } from './memory.ts'
import { millionBenches } from './million.ts'
import { queryBenches } from './queries.ts'
import { queueBenches } from './queue.ts'
import { readBenches } from './reads.ts'
import { runBenches } from './runs.ts'
import { startupBenches } from './startup.ts'
import { stateBenches } from './states.ts'
import { type BenchRow, startTarget, type Target } from './target.ts'
import { taskBenches } from './tasks.ts'
import { warmBenches } from './warm.ts'
import { webBenches } from './web.ts'

/**
 * `npm run bench [-- name …]` measures and prints a table beside the last committed one; `-- --save` writes it to
 * `bench/results.json`. Timings are noisy: compare ratios within one run.
 */
const RESULTS = join(import.meta.dirname, 'results.json')
const SUITES: Record<string, (target: Target) => Promise<BenchRow[]>> = {
  startup: async () => startupBenches(),
  reads: readBenches,
  queries: queryBenches,
  runs: runBenches,
  warm: warmBenches,
  queue: queueBenches,
  states: stateBenches,
  memory: memoryBenches,
  tasks: taskBenches,
  web: async () => webBenches(),
  million: millionBenches,
}
/** Only run by their names: they take long. */
const LONG = new Set(['million'])

const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const before = JSON.parse(await readFile(RESULTS, 'utf8').catch(() => '{}')) as Record<string, number>
const after: Record<string, number> = { ...before }

for (const [name, suite] of Object.entries(SUITES)) {
  if (names.length > 0 ? !names.includes(name) : LONG.has(name)) continue
  const target = await startTarget()
  try {
    const rows = await suite(target)
    process.stdout.write(`\n${name}\n`)
    for (const row of rows) {
      process.stdout.write(`  ${line(row)}\n`)
      after[row.name] = Math.round(row.value * 100) / 100
    }
  } finally {
    await target.stop()
  }
}
if (process.argv.includes('--save')) await writeFile(RESULTS, `${JSON.stringify(after, null, 2)}\n`)

function line({ name, value, unit, better, budget }: BenchRow) {
  const met = budget === undefined ? '' : (better === 'less' ? value <= budget : value >= budget) ? '✓' : '✗'
  const wanted = budget === undefined ? '' : `${better === 'less' ? '≤' : '≥'} ${budget} ${unit} ${met}`
  const last = before[name]
  const change = last === undefined ? '' : `was ${last} (×${(value / last).toFixed(2)})`
  return `${name.padEnd(58)} ${`${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`.padStart(14)}   ${wanted.padEnd(22)} ${change}`
}
