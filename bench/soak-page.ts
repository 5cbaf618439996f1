import { cpus, totalmem } from 'node:os'
import type { BenchRow } from './target.ts'

/** `seconds` since the start of the load; memory in MB; latencies of lists in ms since the previous sample. */
export type Sample = { seconds: number; server: number; database: number; median: number; p95: number }

const WIDTH = 720
const HEIGHT = 240
const LEFT = 56
const RIGHT = 16
const TOP = 28
const GAP = 72

type Series = { name: string; color: string; of: (sample: Sample) => number }

const MEMORY: readonly Series[] = [
  { name: 'server', color: '#2563eb', of: ({ server }) => server },
  { name: 'database', color: '#d97706', of: ({ database }) => database },
]
const LATENCY: readonly Series[] = [
  { name: 'median', color: '#2563eb', of: (sample) => sample.median },
  { name: '95 %', color: '#d97706', of: ({ p95 }) => p95 },
]

/** Memory in MB and the latency of lists in ms over time, as an SVG that is legible on light and dark pages. */
export function soakChart(samples: readonly Sample[]): string {
  const height = 2 * HEIGHT + GAP + TOP
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13" role="img">
<title>Memory and latency of lists during a soak test</title>
<style>text { fill: #57606a } line { stroke: #8b949e; stroke-opacity: .35 } polyline { fill: none; stroke-width: 1.6 }
@media (prefers-color-scheme: dark) { text { fill: #adbac7 } }</style>
${panel(samples, 'Memory in MB', MEMORY, TOP)}
${panel(samples, 'Pages of lists under load, in ms', LATENCY, TOP + HEIGHT + GAP)}
</svg>
`
}

function panel(samples: readonly Sample[], title: string, series: readonly Series[], top: number) {
  const end = samples.at(-1)?.seconds ?? 1
  const highest = roundUp(Math.max(...series.flatMap(({ of }) => samples.map(of))))
  const inner = HEIGHT - 40
  const x = (seconds: number) => LEFT + (seconds / end) * (WIDTH - LEFT - RIGHT)
  const y = (value: number) => top + 16 + inner * (1 - value / highest)
  const grid = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const at = y(part * highest).toFixed(1)
    return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/><text x="${LEFT - 8}" y="${at}" dy="4" text-anchor="end">${Math.round(part * highest * 10) / 10}</text>`
  })
  const minutes = Array.from({ length: Math.floor(end / 60) + 1 }, (_, minute) => {
    return `<text x="${x(minute * 60).toFixed(1)}" y="${top + inner + 34}" text-anchor="middle">${minute} min</text>`
  })
  const lines = series.map(({ color, of }) => {
    const points = samples.map((sample) => `${x(sample.seconds).toFixed(1)},${y(of(sample)).toFixed(1)}`)
    return `<polyline stroke="${color}" points="${points.join(' ')}"/>`
  })
  const legend = series.map(
    ({ name, color }, index) =>
      `<text x="${WIDTH - RIGHT - index * 90}" y="${top}" text-anchor="end" style="fill: ${color}">${name}</text>`,
  )
  return [
    `<text x="${LEFT}" y="${top}" font-weight="bold">${title}</text>`,
    ...grid,
    ...minutes,
    ...lines,
    ...legend,
  ].join('\n')
}

/** The next of 1, 2, 4, 5 and 8, times a power of ten. */
function roundUp(value: number) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)))
  return power * ([1, 2, 4, 5, 8, 10].find((step) => step * power >= value) ?? 10)
}

const GB = 1024 ** 3

/** The page of the documentation; `load` describes the load, and the rows are the lists, by their paths, and the figures under load. */
export function soakPage({ load, lists, figures }: { load: string; lists: BenchRow[]; figures: BenchRow[] }): string {
  const machine = `${cpus().length} processors (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / GB)} GB of memory, Node ${process.version}`
  const slowestFirst = [...lists].sort((one, other) => other.value - one.value)
  const valueOf = (name: string) => figures.find((row) => row.name === name)?.value ?? Number.NaN
  const memory = valueOf('memory of the server, median') + valueOf('memory of the database, median')
  return `# Soak test

Under the load below, server and database together used ${rounded(memory)} MB of memory with one run at a time, and 95 % of the pages of lists took at most ${rounded(valueOf('lists under load: 95 %'))} ms.
An installation of this size fits on a small host; more concurrent runs need more, and [Sizing](OPERATIONS.md#sizing) says how much.

\`npm run bench -- soak\` wrote this page and its chart. The server, with the embedded database, the built-in agent and the clients of the
test, had ${machine}.

## Under load

${load}

${table(['Figure', 'Value', 'Budget'], figures, ({ name }) => name)}

![Memory of server and database, and the latency of lists, during the load](images/soak.svg)

## Lists

The first page of each list with 20 entries, one after the other on an idle server that has warmed up, at the median. The slowest are first.

${table(['List', 'Value', 'Budget'], slowestFirst, ({ name }) => `\`${name}\``)}
`
}

function table(heads: readonly string[], rows: readonly BenchRow[], nameOf: (row: BenchRow) => string) {
  const lines = rows.map((row) => {
    const { value, unit, budget, better } = row
    const limit = budget === undefined ? '' : `${better === 'less' ? '≤' : '≥'} ${budget} ${unit}`
    return [nameOf(row), `${rounded(value)} ${unit}`, limit]
  })
  return [heads, heads.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function rounded(value: number) {
  return value.toFixed(Math.abs(value) < 10 ? 1 : 0)
}
