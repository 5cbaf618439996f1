import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { memoryBenches } from './memory.ts'
import { millionBenches } from './million.ts'
import { queryBenches } from './queries.ts'
import { queueBenches } from './queue.ts'
import { readBenches } from './reads.ts'
import { repositoryBenches } from './repositories.ts'
import { runBenches } from './runs.ts'
import { soakBenches } from './soak.ts'
import { startupBenches } from './startup.ts'
import { stateBenches } from './states.ts'
import { PAIRED_HEADING, pairedRow, row } from './table.ts'
import { type BenchRow, startTarget, type Target } from './target.ts'
import { taskBenches } from './tasks.ts'
import { alternate, type Turn } from './turns.ts'
import { webBenches } from './web.ts'
import { writeBenches } from './writes.ts'

/**
 * `npm run bench [-- suite …]` measures this tree and prints a table with the last committed one; `-- --save` writes it to
 * `bench/results.json`. `-- --baseline DIR` also measures the tree in DIR, alternately and with the same code. Values of one run can be
 * compared; values of different runs differ by the noise of the machine.
 */
const ROOT = join(import.meta.dirname, '..')
const RESULTS = join(import.meta.dirname, 'results.json')
const SUITES: Record<string, (target: Target) => Promise<BenchRow[]>> = {
  startup: startupBenches,
  writes: writeBenches,
  reads: readBenches,
  queries: queryBenches,
  runs: runBenches,
  queue: queueBenches,
  states: stateBenches,
  memory: memoryBenches,
  tasks: taskBenches,
  repositories: repositoryBenches,
  web: webBenches,
  million: millionBenches,
  soak: soakBenches,
}
/** Slow suites, which only run by name. */
const LONG = new Set(['million', 'soak'])

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { save: { type: 'boolean' }, baseline: { type: 'string' } },
})
const unknown = names.filter((name) => !(name in SUITES))
if (unknown.length > 0) throw new Error(`no suite ${unknown.join(', ')}; there are ${Object.keys(SUITES).join(', ')}`)
const suites = Object.entries(SUITES).filter(([name]) => (names.length > 0 ? names.includes(name) : !LONG.has(name)))
if (options.baseline === undefined) await measure()
else await compare(resolve(options.baseline))

async function measure() {
  const last = JSON.parse(await readFile(RESULTS, 'utf8').catch(() => '{}')) as Record<string, number>
  const figures = { ...last }
  for (const [name, suite] of suites) {
    const rows = await measureTree(suite, ROOT)
    print(`\n${name}`)
    for (const measured of rows) {
      print(`  ${row(measured, last[measured.name])}`)
      figures[measured.name] = Math.round(measured.value * 100) / 100
    }
  }
  if (options.save) await writeFile(RESULTS, `${JSON.stringify(figures, null, 2)}\n`)
}

async function compare(other: string) {
  const prepared = spawnSync(process.execPath, [join(other, 'scripts/prepare.mjs'), 'server', 'web'], {
    stdio: 'inherit',
  })
  if (prepared.status !== 0) throw new Error(`${other} could not be prepared`)
  print(`  ${PAIRED_HEADING}`)
  for (const [name, suite] of suites) {
    const [ours, theirs] = await alternate([
      (turn) => measureTree(suite, ROOT, turn),
      (turn) => measureTree(suite, other, turn),
    ])
    print(`\n${name}`)
    for (const measured of ours) {
      const same = theirs.find(({ name }) => name === measured.name)
      print(`  ${pairedRow(measured, same)}`)
    }
  }
}

async function measureTree(suite: (target: Target) => Promise<BenchRow[]>, root: string, turn?: Turn) {
  const target = await startTarget({ root, turn })
  try {
    return await suite(target)
  } finally {
    await target.stop()
  }
}

function print(text: string) {
  process.stdout.write(`${text}\n`)
}
