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
