// The third-party packages in what is shipped, from package-lock.json: the dependencies of the server, the agent and the web UI,
// direct and indirect, without those for development.
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './bundle.mjs'

const { packages: LOCKED } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))

/** Packages of a platform, which npm installs next to `groundstate`: PostgreSQL and Node.js. Names with exact versions. */
export const PLATFORM_PACKAGES = LOCKED[''].optionalDependencies

/**
 * The dependencies of workspaces such as `server`, sorted: `{ path, name, version, license }`, each with its path below the root. Optional dependencies
 * of dependencies are native addons that are not shipped.
 */
export function shippedPackages(...workspaces) {
  return closure(workspaces.flatMap((workspace) => dependenciesOf(workspace)))
}

/** Packages by name, with their dependencies. */
export function packagesWithDependencies(names) {
  return closure(names.map((name) => locate('', name)))
}

/** The packages of all platforms, of which npm installs one of each. */
export function platformPackages() {
  return Object.keys(PLATFORM_PACKAGES).map((name) => described(locate('', name)))
}

/** The part of the lock file that describes workspaces and their dependencies as those of one package. */
export function lockOf(workspaces, optionalDependencies) {
  const paths = [
    ...shippedPackages(...workspaces),
    ...Object.keys(optionalDependencies).map((name) => described(locate('', name))),
  ].map(({ path }) => path)
  const direct = workspaces.flatMap((workspace) => Object.entries(LOCKED[workspace].dependencies ?? {}))
  const external = direct.filter(([name]) => !LOCKED[`node_modules/${name}`].link)
  return {
    dependencies: Object.fromEntries(external),
    packages: Object.fromEntries(paths.map((path) => [path, withoutUnshipped(LOCKED[path])])),
  }
}

/** npm misses peers that are types, and native addons, which are not shipped. */
function withoutUnshipped(locked) {
  return { ...locked, optionalDependencies: undefined, peerDependencies: undefined }
}

function closure(paths) {
  const found = new Set()
  const add = (path) => {
    if (found.has(path)) return
    found.add(path)
    for (const dependency of dependenciesOf(path)) add(dependency)
  }
  for (const path of paths) add(path)
  return [...found]
    .filter((path) => path.includes('node_modules/'))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map(described)
}

function described(path) {
  const { version, license } = LOCKED[path]
  return { path, name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), version, license }
}

function dependenciesOf(path) {
  return Object.keys(LOCKED[path].dependencies ?? {}).map((name) => locate(path, name))
}

/** Finds a package as Node does: in the nearest `node_modules`. Workspaces are links to their directories. */
function locate(path, name) {
  for (let from = path; ; from = from.slice(0, Math.max(0, from.lastIndexOf('/')))) {
    const candidate = from === '' ? `node_modules/${name}` : `${from}/node_modules/${name}`
    const found = LOCKED[candidate]
    if (found) return found.link ? found.resolved : candidate
    if (from === '') throw new Error(`package-lock.json lacks ${name}, which ${path || 'the repository'} needs`)
  }
}

/** THIRD-PARTY.txt: the licence of each package, with its text. */
export async function thirdPartyNotices(packages) {
  return (await Promise.all(packages.map(noticeOf))).join('\n')
}

async function noticeOf({ path, name, version, license }) {
  const { repository, homepage } = JSON.parse(await readFile(join(ROOT, path, 'package.json'), 'utf8'))
  const source = homepage ?? (typeof repository === 'string' ? repository : repository?.url) ?? ''
  const title = `${name} ${version} (${license}) ${source}`.trim()
  const file = (await readdir(join(ROOT, path))).toSorted().find((name) => /^(?:licen[cs]e|copying)/i.test(name))
  const text = file === undefined ? '' : `\n${(await readFile(join(ROOT, path, file), 'utf8')).trim()}\n`
  return `${title}\n${text}${'-'.repeat(80)}\n`
}
