// Bundles the server into server/dist: one file of a few in place of over a thousand, which halves the time to start and takes a third of
// the memory off (docs/decisions/one-process.md). It is the code of the sources, and readable: what an error names is found there.
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { BUNDLE, dropStamp, stampBundle } from '../server/bin/bundle.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const KEPT_MS = 7 * 24 * 3_600_000

// A server that starts meanwhile gets the former one, or the sources.
const draft = join(ROOT, `server/dist/.draft-${process.pid}`)
await mkdir(draft, { recursive: true })
try {
  const startedMs = Date.now()
  const paths = await bundle()
  dropStamp()
  await dropOldFiles()
  // The programs come last: by then there is whatever they load.
  const names = (await readdir(draft)).toSorted((a, b) => Number(isProgram(a)) - Number(isProgram(b)))
  for (const name of names) await rename(join(draft, name), join(BUNDLE, name))
  stampBundle([...paths, 'scripts/build-server.mjs', 'server/bin/bundle.mjs'], startedMs)
} finally {
  await rm(draft, { recursive: true, force: true })
}

function isProgram(name) {
  return !name.includes('-') || name === 'launcher-process.js' || name === 'plan-worker.js'
}

/** A server that runs loads parts of its bundle when it first needs them: those have names of their content, and may stay for a while. */
async function dropOldFiles() {
  for (const name of await readdir(BUNDLE)) {
    const path = join(BUNDLE, name)
    if (Date.now() - (await stat(path)).mtimeMs > KEPT_MS) await rm(path, { recursive: true, force: true })
  }
}

/** Answers the paths of all files in the bundle, from the root. */
async function bundle() {
  const build = await rolldown({
    // These programs look for their threads and processes in their own directory, by these names.
    input: {
      main: join(ROOT, 'server/src/main.ts'),
      worker: join(ROOT, 'server/src/workers/worker.ts'),
      'launcher-process': join(ROOT, 'agent/src/process/launcher-process.ts'),
      'plan-worker': join(ROOT, 'agent/src/run/plan-worker.ts'),
    },
    platform: 'node',
    transform: { target: 'node24' },
    // Packages that start threads from files of their own, or load what may not be there.
    external: [/^node:/, 'piscina', 'pino', 'pg-native'],
    plugins: [{ name: 'places of sources', transform: (code, id) => withPlaces(code, id) }],
    checks: { eval: false },
  })
  const { output } = await build.write({
    dir: draft,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: false,
    // See `inLatin1`.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
  })
  for (const chunk of output) {
    if ('code' in chunk) await writeFile(join(draft, chunk.fileName), inLatin1(chunk.code))
  }
  const ids = output.flatMap((chunk) => ('moduleIds' in chunk ? chunk.moduleIds : []))
  return [...new Set(ids.filter((id) => id.startsWith(ROOT)).map((id) => relative(ROOT, id)))]
}

/**
 * V8 keeps the text of a file in two bytes for each character when one of them is not of Latin 1. The rest is in
 * tagged templates, of which only `String.raw` would see the difference.
 */
function inLatin1(code) {
  return code.replaceAll(/\\*[^\0-\xff]/g, (found) => {
    if (found.length > 1) throw new Error(`a backslash before a character that is not of Latin 1: ${found}`)
    return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Files that a source finds from its own place stay where they are. */
function withPlaces(code, id) {
  if (id.includes('node_modules') || !code.includes('import.meta.')) return undefined
  const url = `new URL(${JSON.stringify(relative(BUNDLE, id))}, import.meta.url)`
  const directory = JSON.stringify(relative(BUNDLE, dirname(id)))
  return code
    .replaceAll('import.meta.dirname', `process.getBuiltinModule('node:path').join(import.meta.dirname, ${directory})`)
    .replaceAll('createRequire(import.meta.url)', `createRequire(${url})`)
}
