// Which code the command runs: the sources, or the bundle that scripts/build-server.mjs makes of them, while it is that of the sources
// as they are. Plain JavaScript for Node 20, as scripts/prepare.mjs needs it too.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const BUNDLE = join(ROOT, 'server/dist')
const STAMP = join(BUNDLE, 'sources.json')
/** npm writes it whenever it changes a dependency. */
const DEPENDENCIES = 'node_modules/.package-lock.json'

/** Whether this is a clone. The npm package has a bundle only. */
export function hasSources() {
  return existsSync(join(ROOT, 'server/src/main.ts'))
}

/** From now on the sources run. */
export function dropStamp() {
  rmSync(STAMP, { force: true })
}

/** Notes of which files the bundle was made: their paths below the root, each with size and time. Not when one has changed since the start. */
export function stampBundle(paths, startedMs) {
  const own = paths.filter((path) => !path.includes('node_modules/'))
  if (own.some((path) => statSync(join(ROOT, path)).mtimeMs >= startedMs)) return
  writeFileSync(STAMP, JSON.stringify([DEPENDENCIES, ...own].map((path) => [path, stateOf(path)])))
}

/** Whether there is a bundle and no file has changed of which it was made. A few milliseconds. */
export function isBundleFresh() {
  try {
    return JSON.parse(readFileSync(STAMP, 'utf8')).every(([path, state]) => stateOf(path) === state)
  } catch {
    return false
  }
}

function stateOf(path) {
  const found = statSync(join(ROOT, path), { throwIfNoEntry: false })
  return found ? `${found.size} ${found.mtimeMs}` : ''
}
