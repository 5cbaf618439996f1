import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/*
 * Limits on the size of the tree and on wording, checked by `npm run lint`, so that a reader opens few files and reads plain
 * English. Raise a limit only in the commit of the feature that needs it.
 */

const LIMITS = {
  'source lines of contract, server, agent and web': 149_400,
  'source files in server/src/features': 520,
  'of them with 20 lines or fewer': 15,
  'source files with more than 400 lines': 0,
  'lines with wording that reads like a translation': 20,
  'words in docs/ARCHITECTURE.md': 1700,
} as const

const WORDING =
  /\/\*\* (?:What|Whoever|Who|Where|Of|So (?:many|much|long)) |[Ww]hoever|\btold\b|\bstands?\b(?!-in)|MOST_|[Dd]esk\b|[Ss]tanding|\banew\b|\ba look\b|of its own|can not|\bbeside\b/

const root = fileURLToPath(new URL('..', import.meta.url))
const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
const paths = tracked.split('\0').filter((path) => path !== '' && existsSync(`${root}/${path}`))
const linesOf = (path: string) => readFileSync(`${root}/${path}`, 'utf8').replace(/\n$/, '').split('\n')

const sources = paths
  .filter((path) => /^(?:contract|server|agent|web)\/.*\.tsx?$/.test(path))
  .filter((path) => !/\.test\.tsx?$|\/testing\/|\.gen\.ts$|^server\/migrations\//.test(path))
  .map((path) => ({ path, lines: linesOf(path).length }))
const features = sources.filter(({ path }) => path.startsWith('server/src/features/'))
const long = sources.filter(({ lines }) => lines > 400)
const worded = paths
  .filter((path) => /\.(?:tsx?|mjs|md)$|^\.ci\//.test(path) && path !== 'lint/size.ts')
  .flatMap((path) => linesOf(path).filter((line) => WORDING.test(line)))

const found: Record<keyof typeof LIMITS, number> = {
  'source lines of contract, server, agent and web': sources.reduce((sum, { lines }) => sum + lines, 0),
  'source files in server/src/features': features.length,
  'of them with 20 lines or fewer': features.filter(({ lines }) => lines <= 20).length,
  'source files with more than 400 lines': long.length,
  'lines with wording that reads like a translation': worded.length,
  'words in docs/ARCHITECTURE.md': linesOf('docs/ARCHITECTURE.md').join(' ').trim().split(/\s+/).length,
}

for (const [name, limit] of Object.entries(LIMITS)) {
  const value = found[name as keyof typeof LIMITS]
  process.stdout.write(`${value > limit ? 'over the limit: ' : ''}${name}: ${value} (limit ${limit})\n`)
  if (value > limit) process.exitCode = 1
}
for (const { path, lines } of long) process.stdout.write(`${path} has ${lines} lines\n`)
