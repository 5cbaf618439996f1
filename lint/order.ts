/**
 * The import order of the server's source. `docs/ARCHITECTURE.md` has a map and the reasons; this file is the
 * definition.
 */

/** The areas of `server/src/features/`, lowest first: an area imports itself and those before it. */
export const AREAS = ['identity', 'organizations', 'workspaces', 'states', 'agents', 'tasks', 'runs', 'site'] as const

/** The kinds of files in a feature, lowest first: a file imports its own kind and those before it. */
export const KINDS = ['noun', 'access', 'verb', 'includes', 'door'] as const
export type Kind = (typeof KINDS)[number]

/** Roles by the name of a file or its ending; other files are verbs or nouns. */
const ROLES: Readonly<Record<string, Kind>> = {
  routes: 'door',
  jobs: 'door',
  reactions: 'door',
  loop: 'door',
  includes: 'includes',
  access: 'access',
  resource: 'noun',
  service: 'verb',
  store: 'noun',
}

/** Files that begin with one of these are verbs: they may load, authorise, and own a transaction. */
const VERBS: ReadonlySet<string> = new Set([
  'abandon',
  'accept',
  'act',
  'add',
  'advance',
  'append',
  'apply',
  'approve',
  'archive',
  'bind',
  'cancel',
  'change',
  'check',
  'claim',
  'compact',
  'compare',
  'count',
  'create',
  'delete',
  'deliver',
  'deregister',
  'discard',
  'download',
  'end',
  'ensure',
  'exchange',
  'expire',
  'extract',
  'finish',
  'fire',
  'force',
  'insert',
  'issue',
  'leave',
  'list',
  'lock',
  'manage',
  'move',
  'open',
  'override',
  'promote',
  'purge',
  'put',
  'read',
  'reap',
  'receive',
  'record',
  'redeliver',
  'register',
  'release',
  'replace',
  'report',
  'resolve',
  'revoke',
  'roll',
  'send',
  'set',
  'settle',
  'show',
  'sign',
  'start',
  'sweep',
  'sync',
  'test',
  'update',
  'upload',
  'verify',
  'wait',
  'wake',
])

/** The kind of a feature's file, by its name without the extension. */
export function kindOf(name: string): Kind {
  const words = name.split('-')
  const role = ROLES[name] ?? (words.length > 1 ? ROLES[words.at(-1) ?? ''] : undefined)
  return role ?? (VERBS.has(words[0] ?? '') ? 'verb' : 'noun')
}

type Place = { area: string; feature: string; kind: Kind }

/** The place of a path within the features; undefined for machinery and for the list of all features. */
function placeOf(path: string): Place | undefined {
  const found = /^server\/src\/features\/([^/]+)\/([^/]+)\/(?:.*\/)?([^/]+)\.ts$/.exec(path)
  if (!found) return undefined
  const [, area = '', feature = '', name = ''] = found
  return { area, feature, kind: kindOf(name) }
}

/** Tests may import anything, and so may the files that assemble the server. */
const FREE =
  /\.test\.tsx?$|\/testing\/|^server\/src\/(?:features\/list|serve|main)\.ts$|^server\/src\/cli\/|^(?:e2e|bench|scripts|lint)\//

/** The packages that a package may import by path. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  contract: ['contract'],
  server: ['server'],
  agent: ['agent'],
  web: ['web'],
}

/** Why `from` may not import `to` (paths from the repository's root); undefined when it may. */
export function importProblem(from: string, to: string): string | undefined {
  if (FREE.test(from)) return undefined
  const part = from.split('/', 1)[0] ?? ''
  if (PARTS[part] && !PARTS[part].includes(to.split('/', 1)[0] ?? '')) {
    return `${part}/ imports other packages by their names, not by a path`
  }
  if (!from.startsWith('server/src/')) return undefined
  if (/\/testing\//.test(to)) return 'what tests are made with is imported by tests only'
  const [lower, upper] = [placeOf(from), placeOf(to)]
  if (!upper) {
    return to.startsWith('server/src/features/')
      ? 'nothing imports the list of all features but what starts a server'
      : undefined
  }
  if (!lower) return `machinery knows no feature: ${to} is one`
  const [fromArea, toArea] = [AREAS.indexOf(lower.area as never), AREAS.indexOf(upper.area as never)]
  if (fromArea === -1) return `${lower.area} is not among the areas in lint/order.ts`
  if (toArea > fromArea) {
    return `${lower.area} stands below ${upper.area}: raise an event that ${upper.area} reacts to, or move what needs both up`
  }
  if (KINDS.indexOf(upper.kind) > KINDS.indexOf(lower.kind)) {
    return `this file is of the kind "${lower.kind}", which stands below "${upper.kind}" (see STYLE.md; a new verb goes into lint/order.ts)`
  }
  return undefined
}

/** Whether a file may contain SQL: stores and machinery may. */
export function mayHoldSql(path: string) {
  if (FREE.test(path) || !path.startsWith('server/src/features/')) return true
  return /\/(?:[^/]+-)?store\.ts$/.test(path)
}
