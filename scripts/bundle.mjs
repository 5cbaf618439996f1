// Bundles of the server and of the agent: a few files of JavaScript. They are not minified, so stack traces are readable.
import { writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { BUNDLE } from '../server/bin/bundle.mjs'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Packages that start threads from their files, or read files: the server loads them from `node_modules`. */
export const UNBUNDLED = ['@cdktn/hcl2json', 'pino', 'piscina']

const READABLE = { compress: false, mangle: false, codegen: { removeWhitespace: false } }

/** `build` is the commit and time of a package (agent/src/build.ts), and undefined for a bundle of a clone. */
function defined(build) {
  return { GROUNDSTATE_BUILD: JSON.stringify(build ?? null) }
}

/** Bundles the server into a directory, to be moved to `server/dist`. Returns the ids of the bundled modules. */
export async function bundleServer(directory, build) {
  const bundle = await rolldown({
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
    transform: { target: 'node24', define: defined(build) },
    external: [/^node:/, 'pg-native', ...UNBUNDLED],
    plugins: [{ name: 'places of sources', transform: (code, id) => withPlaces(code, id) }],
    checks: { eval: false },
  })
  const { output } = await bundle.write({
    dir: directory,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: false,
    // See `inLatin1`.
    minify: { ...READABLE, codegen: { ...READABLE.codegen, asciiOnly: true } },
  })
  for (const chunk of output) {
    if ('code' in chunk) await writeFile(join(directory, chunk.fileName), inLatin1(chunk.code))
  }
  return idsOf(output)
}

/** Bundles the agent for Node 20, with all its packages. */
export async function bundleAgent(directory, build) {
  const bundle = await rolldown({
    // launcher.ts and plan-document.ts look for their programs in their own directory, by these names.
    input: {
      'groundstate-agent': join(ROOT, 'agent/src/main.ts'),
      'launcher-process': join(ROOT, 'agent/src/process/launcher-process.ts'),
      'plan-worker': join(ROOT, 'agent/src/run/plan-worker.ts'),
      'outcome-process': join(ROOT, 'agent/src/policy/outcome-process.ts'),
      'old-node': join(ROOT, 'agent/src/old-node.ts'),
    },
    platform: 'node',
    transform: { target: 'node20', define: defined(build) },
    // Everything except Node's modules is bundled.
    external: /^node:/,
  })
  await bundle.write({
    dir: directory,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    minify: READABLE,
    banner: ({ name }) =>
      `${name === 'groundstate-agent' ? '#!/usr/bin/env node\n' : ''}${name === 'old-node' ? '' : "import './old-node.js'\n"}`,
  })
}

function idsOf(output) {
  return output.flatMap((chunk) => ('moduleIds' in chunk ? chunk.moduleIds : []))
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
