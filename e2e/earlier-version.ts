import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from '../server/src/testing/cleanup.ts'

const ROOT = join(import.meta.dirname, '..')
const MIGRATIONS = 'server/migrations'
const PACKAGES = ['contract', 'server', 'agent', 'web']

export type EarlierVersion = {
  commit: string
  server: string
  agent: string
  starts: 'before a newer server' | 'at any time'
}

/**
 * Unpacks the last release, or else the newest commit with another schema, and returns the paths of its programs; undefined, with a message, where the
 * history is missing. It is removed at the end of the file.
 */
export function unpackEarlierVersion(): EarlierVersion | undefined {
  const commit = findCommit()
  if (commit === undefined) {
    console.warn(
      'SKIPPED: this clone has no earlier version (a shallow clone?), so that no rolling upgrade can be tested',
    )
    return undefined
  }
  const directory = mkdtempSync(join(tmpdir(), 'gs-earlier-'))
  atEnd(() => rmSync(directory, { recursive: true, force: true }))
  const archive = execFileSync('git', ['archive', commit, ...PACKAGES, 'package.json', 'package-lock.json'], {
    cwd: ROOT,
    maxBuffer: 2 ** 30,
  })
  execFileSync('tar', ['-x', '-C', directory], { input: archive })
  linkDependencies(directory)
  const knowsNewer = readFileSync(join(directory, 'server/src/db/migrate.ts'), 'utf8').includes('requires')
  return {
    commit,
    server: join(directory, 'server/bin/groundstate'),
    agent: join(directory, 'agent/bin/groundstate-agent.mjs'),
    starts: knowsNewer ? 'at any time' : 'before a newer server',
  }
}

function findCommit() {
  try {
    const release = git('tag', '--list', 'v*', '--sort=-version:refname', '--merged', 'HEAD').split('\n')[0]
    if (release !== undefined && release !== '') return release
    if (git('status', '--porcelain', MIGRATIONS) !== '') return git('rev-parse', 'HEAD')
    const changed = git('log', '-1', '--format=%H', '--', `${MIGRATIONS}/*.ts`)
    return git('rev-parse', '--verify', '--quiet', `${changed}^1`)
  } catch {
    return undefined
  }
}

function git(...args: string[]) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}

/** Installs the dependencies, or links those of this version if they are the same. */
function linkDependencies(directory: string) {
  const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (lock(directory) !== lock(ROOT)) {
    const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    execFileSync('npm', ['ci', ...options], { cwd: directory, stdio: ['ignore', 'inherit', 'inherit'] })
    return
  }
  const modules = join(directory, 'node_modules')
  mkdirSync(join(modules, '@groundstate'), { recursive: true })
  const own = new Set(['@groundstate', 'groundstate', '.cache'])
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (!own.has(name)) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  // Programs of this version must not get its own packages.
  for (const name of PACKAGES) symlinkSync(join(directory, name), join(modules, '@groundstate', name))
  for (const name of PACKAGES) {
    const nested = join(ROOT, name, 'node_modules')
    if (existsSync(nested)) symlinkSync(nested, join(directory, name, 'node_modules'))
  }
}
