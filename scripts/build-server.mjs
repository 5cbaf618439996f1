// Bundles the server into server/dist: a few files instead of over a thousand, which halves the start time and saves a third of
// the memory (docs/decisions/one-process.md).
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { BUNDLE, dropStamp, stampBundle } from '../server/bin/bundle.mjs'
import { ROOT, bundleServer } from './bundle.mjs'

const KEPT_MS = 7 * 24 * 3_600_000

// A server that starts during a build uses the previous bundle, or the sources.
const draft = join(ROOT, `server/dist/.draft-${process.pid}`)
await mkdir(draft, { recursive: true })
try {
  const startedMs = Date.now()
  const ids = await bundleServer(draft)
  const paths = new Set(ids.filter((id) => id.startsWith(ROOT)).map((id) => relative(ROOT, id)))
  dropStamp()
  await dropOldFiles()
  // The programs come last, after the files that they load.
  const names = (await readdir(draft)).toSorted((a, b) => Number(isProgram(a)) - Number(isProgram(b)))
  for (const name of names) await rename(join(draft, name), join(BUNDLE, name))
  stampBundle([...paths, 'scripts/build-server.mjs', 'scripts/bundle.mjs', 'server/bin/bundle.mjs'], startedMs)
} finally {
  await rm(draft, { recursive: true, force: true })
}

function isProgram(name) {
  return (
    !name.includes('-') ||
    name === 'launcher-process.js' ||
    name === 'plan-worker.js' ||
    name === 'outcome-process.js' ||
    name === 'hcl-worker.js'
  )
}

/** Running servers load chunks of their bundle lazily: they are named by content hash, and kept for a while. */
async function dropOldFiles() {
  for (const name of await readdir(BUNDLE)) {
    const path = join(BUNDLE, name)
    if (Date.now() - (await stat(path)).mtimeMs > KEPT_MS) await rm(path, { recursive: true, force: true })
  }
}
