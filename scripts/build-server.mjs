// Bundles the server into server/dist: a few files instead of over a thousand, which halves the start time and saves a third of
// the memory (docs/decisions/one-process.md). The code is not minified, so stack traces are readable.
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { BUNDLE, dropStamp, stampBundle } from '../server/bin/bundle.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const KEPT_MS = 7 * 24 * 3_600_000

// A server that starts during a build uses the previous bundle, or the sources.
const draft = join(ROOT, `server/dist/.draft-${process.pid}`)
await mkdir(draft, { recursive: true })
try {
  const startedMs = Date.now()
  const paths = await bundle()
  dropStamp()
  await dropOldFiles()
  // The programs come last, after the files that they load.
  const names = (await readdir(draft)).toSorted((a, b) => Number(isProgram(a)) - Number(isProgram(b)))
  for (const name of names) await rename(join(draft, name), join(BUNDLE, name))
  stampBundle([...paths, 'scripts/build-server.mjs', 'server/bin/bundle.mjs'], startedMs)
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

/** Returns the paths of all bundled files, relative to the root. */
async function bundle() {
  const build = await rolldown({
    // These programs look for their threads and processes in their own directory, by these names.
    input: {
      main: join(ROOT, 'server/src/main.ts'),
      worker: join(ROOT, 'server/src/workers/worker.ts'),
      'hcl-worker': join(ROOT, 'server/src/hcl/hcl-worker.ts'),
      'launcher-process': join(ROOT, 'agent/src/process/launcher-process.ts'),
      'plan-worker': join(ROOT, 'agent/src/run/plan-worker.ts'),
      'outcome-process': join(ROOT, 'agent/src/policy/outcome-process.ts'),
    },
    platform: 'node',
    transform: { target: 'node24' },
    // Packages that start threads from their files, or have optional imports.
    external: [/^node:/, 'piscina', 'pino', 'pg-native', '@cdktn/hcl2json'],
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
 * V8 stores a source with two bytes per character if it has any character beyond Latin-1. `asciiOnly` leaves those in tagged templates, of
 * which only `String.raw` is affected by escapes.
 */
function inLatin1(code) {
  return code.replaceAll(/\\*[^\0-\xff]/g, (found) => {
    if (found.length > 1) throw new Error(`a backslash before a character that is not of Latin 1: ${found}`)
    return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Keeps `import.meta.dirname` of sources that locate files with it. */
function withPlaces(code, id) {
  if (id.includes('node_modules') || !code.includes('import.meta.')) return undefined
  const url = `new URL(${JSON.stringify(relative(BUNDLE, id))}, import.meta.url)`
  const directory = JSON.stringify(relative(BUNDLE, dirname(id)))
  return code
    .replaceAll('import.meta.dirname', `process.getBuiltinModule('node:path').join(import.meta.dirname, ${directory})`)
    .replaceAll('createRequire(import.meta.url)', `createRequire(${url})`)
}
