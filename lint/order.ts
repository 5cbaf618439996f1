/**
 * The import order of the repository. `docs/ARCHITECTURE.md` has a map and the reasons; this file is the definition.
 */

/**
 * The areas of `server/src/features/` and the nouns of each, lowest first. A noun imports itself, the nouns before it, and every
 * noun of the areas before.
 */
export const AREAS: Readonly<Record<string, readonly string[]>> = {
  identity: ['users', 'sessions', 'password-resets', 'tokens', 'account', 'oauth'],
  organizations: [
    'organizations',
    'tags',
    'projects',
    'teams',
    'organization-memberships',
    'invitations',
    'authentication-tokens',
    'sso',
  ],
  vcs: ['ssh-keys', 'oauth-clients', 'github-app-installations', 'repositories'],
  workspaces: ['workspaces', 'workspace-tags', 'team-access', 'variables', 'variable-sets'],
  states: [
    'state-versions',
    'state-version-outputs',
    'state-version-diffs',
    'backing-data',
    'data-retention',
    'workspace-resources',
  ],
  agents: ['agent-pools', 'agents'],
  tasks: ['task-requests', 'run-tasks', 'workspace-tasks', 'task-results'],
  policies: [
    'opa-versions',
    'policies',
    'policy-sets',
    'policy-set-versions',
    'policy-set-parameters',
    'policy-requests',
    'policy-evaluations',
  ],
  runs: [
    'configuration-versions',
    'runs',
    'run-events',
    'comments',
    'task-stages',
    'run-deciders',
    'plans',
    'policy-trials',
    'run-triggers',
    'identity-keys',
    'workload-identity',
    'agent-jobs',
    'workspace-deletion',
    'organization-overviews',
  ],
  registry: ['gpg-keys', 'registry-usages', 'registry-modules', 'module-documents', 'registry-providers'],
  repositories: [
    'vcs-events',
    'connections',
    'git',
    'webhooks',
    'deliveries',
    'polling',
    'host-repositories',
    'reviewed-plans',
    'commit-statuses',
    'publications',
  ],
  notifications: ['notification-configurations', 'notifications', 'notification-settings'],
  site: [
    'discovery',
    'health',
    'metrics',
    'failed-jobs',
    'admin',
    'agent-package',
    'audit-trail',
    'blob-shards',
    'changes',
    'samples',
  ],
}

/** Units of `server/src/` below the features, lowest first: directories, or files without their extension. */
const MACHINERY: readonly string[] = [
  'error-code',
  'concurrency-limit',
  'errors',
  'start-error',
  'ids',
  'log',
  'metrics',
  'idle-memory',
  'server-address',
  'database-address',
  'directory',
  'durable-file',
  'file-lease',
  'archives',
  'terraform-state',
  'secrets',
  'settings',
  'config',
  'agent-directory',
  'tls',
  'outbound',
  'vcs-hosts',
  'postgres',
  'db',
  'auth',
  'events',
  'polls',
  'clock',
  'signals',
  'servers',
  'changes',
  'hcl',
  'workers',
  'blobs',
  'backup',
  'jobs',
  'secret-rotation',
  'app',
  'installation',
  'handlers',
  'mail',
  'deliveries',
  'audit',
  'claims',
  'http',
]

/** Units of `agent/src/` and `web/src/`, lowest first. */
const AGENT: readonly string[] = [
  'build',
  'activity',
  'log-fields',
  'log',
  'tracing',
  'old-node',
  'process',
  'git',
  'server',
  'gateway',
  'isolation',
  'results',
  'engine',
  'identity',
  'run',
  'policy',
  'settings',
  'job',
  'agent',
  'command-line',
  'main',
]
const WEB: readonly string[] = ['search-params', 'api', 'components', 'features', 'frame', 'routes', 'router', 'main']

/** Kinds of files in a feature, lowest first: a file imports its own kind and those before it. */
const KINDS = ['store', 'access', 'resource', 'service', 'includes', 'entry'] as const
export type Kind = (typeof KINDS)[number]

/** Kinds by a file's name or its last word. */
const ROLES: Readonly<Record<string, Kind>> = {
  routes: 'entry',
  jobs: 'entry',
  loop: 'entry',
  includes: 'includes',
  service: 'service',
  access: 'access',
  resource: 'resource',
  store: 'store',
}

/** The kind of a feature's file, by its name without the extension; undefined for a file named after an operation or a noun. */
export function kindOf(name: string): Kind | undefined {
  return ROLES[name.split('-').at(-1) ?? '']
}

/** The position of a file in the order of its package; `unit` is undefined for a file that the order does not list. */
type Position = { order: readonly string[]; unit: string | undefined; label: string; kind?: Kind | undefined }

const FEATURES = Object.entries(AREAS).flatMap(([area, nouns]) => nouns.map((noun) => `${area}/${noun}`))

function positionOf(path: string): Position | undefined {
  const feature = /^server\/src\/features\/([^/]+\/[^/]+)\/(?:.*\/)?([^/]+)\.ts$/.exec(path)
  if (feature) {
    const [, unit = '', name = ''] = feature
    return { order: FEATURES, unit, label: 'AREAS', kind: kindOf(name) }
  }
  const [, part, unit] = /^(server|agent|web)\/src\/([^/.]+)/.exec(path) ?? []
  if (part === 'server')
    return unit?.startsWith('features/') ? undefined : { order: MACHINERY, unit, label: 'MACHINERY' }
  if (part === 'agent') return { order: AGENT, unit, label: 'AGENT' }
  return part === 'web' ? { order: WEB, unit, label: 'WEB' } : undefined
}

/** Tests may import anything, and so may the files that assemble the server. */
const FREE =
  /\.test\.tsx?$|\/testing\/|^server\/src\/(?:features\/(?:list|sealed)|serve|main)\.ts$|^server\/src\/cli\/|^(?:e2e|bench|scripts|lint)\//

/** Returns why `from` must not import `to`, both relative to the root of the repository; undefined if it may. */
export function importProblem(from: string, to: string): string | undefined {
  if (FREE.test(from)) return undefined
  const [fromPackage = '', toPackage] = [from, to].map((path) => path.split('/', 1)[0])
  if (['contract', 'server', 'agent', 'web'].includes(fromPackage) && toPackage !== fromPackage) {
    return `${fromPackage}/ imports other packages by name, not by path`
  }
  if (/\/testing\//.test(to)) return 'only tests import from testing/'
  if (to === 'server/src/features/list.ts') return 'only the code that starts a server imports the list of features'
  const [importer, imported] = [positionOf(from), positionOf(to)]
  if (!importer || !imported) return undefined
  if (importer.order !== imported.order) {
    return imported.order === FEATURES ? `machinery must not import the feature ${imported.unit}` : undefined
  }
  const [lower, upper] = [importer, imported].map(({ order, unit }) => order.indexOf(unit ?? ''))
  for (const [{ unit, label }, rank] of [[importer, lower] as const, [imported, upper] as const]) {
    if (rank === -1) return `${unit} has no place in ${label} in lint/order.ts`
  }
  if ((upper ?? 0) > (lower ?? 0)) {
    return `${importer.unit} is below ${imported.unit}: raise an event, or move the shared code down or the importer up`
  }
  // A file without a role may be imported by any but must not import entry points itself.
  if (
    imported.kind &&
    KINDS.indexOf(imported.kind) >
      KINDS.indexOf(importer.kind ?? (imported.kind === 'entry' ? 'service' : imported.kind))
  ) {
    return `a file of kind "${importer.kind}" must not import one of kind "${imported.kind}" (see STYLE.md)`
  }
  return undefined
}

/** Whether a file may contain SQL: stores and machinery may. */
export function mayHoldSql(path: string) {
  if (FREE.test(path) || !path.startsWith('server/src/features/')) return true
  return /\/(?:[^/]+-)?store\.ts$/.test(path)
}
