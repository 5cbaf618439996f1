import type { Route } from '../../http/http.ts'
import { accessAlternatives, requiredPermissions, type RouteAccess } from '../../http/route-access.ts'
import { type ActorName, ACTORS } from './actors.ts'

/**
 * Actors that may use the routes of an access, on the fixtures of `createActors`. Actors before the bar pass; those after it see the resource but
 * lack the permission (403; 404 if the route only reads). For others it does not exist (404), and actors without a valid token get 401. The words
 * are actors and the groups in `actorsOf`. `public` routes treat all actors alike, a `nobody` route finds nothing for any of them, and with `only`
 * the other actors have the wrong kind of token (401).
 */
const ACCESS: Record<string, string> = {
  public: 'public',
  signed: 'public',
  'signed-in': 'any',
  user: 'people team',
  person: 'people | team',
  // The user is the owner.
  self: 'owner | team',
  'self or site-admin': 'owner site',
  // Actors have tokens, not sessions.
  session: 'nobody',
  'site-admin': 'site',
  'organization-token': 'org audit',
  agent: 'only agent',
  job: 'only job',
  // No actor has the token of the request.
  'task-request': 'only',
  task: 'only task',

  'organization organization:read': 'member+ org run',
  'organization organization:update': 'owner | member+ org run',
  'organization organization:delete': 'owner | member+ org run',
  'organization owner': 'owner | member+ org run',
  'organization projects:create': 'owner org | member+ run',
  // An organization's token starts no run.
  'organization projects:create, organization workspaces:create, organization variable-sets:manage, organization run-tasks:manage, workspace runs:plan':
    'owner | member+ org run',
  'organization members:read': 'owner org',
  'organization members:read or self': 'owner org',
  'organization members:manage': 'owner org | member+ run',
  'organization members:manage or self': 'owner org',
  'organization teams:manage': 'owner org | member+ run',
  'organization tokens:manage': 'owner | member+ org run',
  // Of an agent pool.
  'self or site-admin or team tokens:manage or organization tokens:manage or organization agent-pools:manage':
    'owner org',
  'organization run-tasks:read': 'member+ org',
  'organization run-tasks:manage': 'owner org | member+',
  'organization agent-pools:read': 'member+ org',
  'organization agent-pools:manage': 'owner org | member+',
  'organization registry:read': 'member+ org run',
  'organization modules:manage': 'owner org | member+ run',
  'organization policies:read': 'member+ org',
  'organization policies:manage': 'owner org | member+',
  'organization providers:manage': 'owner org | member+ run',
  'organization vcs-settings:read': 'member+ org',
  'organization vcs-settings:manage': 'owner org | member+',
  'organization vcs-settings:manage or organization workspaces:create or project workspaces:create or workspace workspace:update':
    'owner org',
  // Of a delivery of a repository that no workspace uses.
  'organization vcs-settings:manage or workspace workspace:read': 'owner org',
  'organization variable-sets:read': 'member+ org',
  'organization variable-sets:read or project variable-sets:read': 'member+ org',
  'organization variable-sets:manage or project variable-sets:manage': 'owner org | member+',
  'organization tags:manage': 'owner org | member+ run',
  'organization audit-trail:read': 'owner org',

  'project project:read': 'owner org run',
  'project project:update': 'owner org | run',
  'project project:delete': 'owner org | run',
  // In the default project, which every member sees.
  'project workspaces:create': 'owner org | member+ run',
  'project workspaces:create, workspace workspace:move': 'owner org | run',
  'project team-access:read or team-member': 'owner org',
  'project team-access:manage': 'owner org | run',
  'project tags:manage': 'owner org | run',

  'workspace workspace:read': 'read+ org run',
  'workspace workspace:read, organization policies:read': 'read+ org',
  'workspace workspace:update': 'admin+ org | read+ run',
  'workspace workspace:delete': 'admin+ org | read+ run',
  'workspace runs:read': 'read+ org run',
  'workspace runs:read or task': 'read+ org run task',
  'workspace runs:plan': 'plan+ | read+ org run',
  // The run only plans.
  'workspace runs:plan or workspace runs:apply': 'plan+ | read+ org run',
  'workspace runs:apply': 'write+ | read+ org run',
  'workspace runs:apply, workspace force-unlock': 'admin+ | read+ org run',
  'workspace plan-json:read or task': 'admin+ run task',
  'workspace runs:read, workspace state-versions:read': 'read+ org run',
  'workspace variables:read': 'read+ org run',
  'workspace variables:read, organization variable-sets:read or workspace variables:read, project variable-sets:read':
    'read+ org',
  'workspace variables:write': 'write+ org | read+ run',
  'workspace state-outputs:read': 'read+ org run',
  'workspace state-versions:read': 'read+ org run',
  'workspace state-versions:write': 'write+ run | read+ org',
  'workspace lock': 'write+ org | read+ run',
  'workspace force-unlock': 'admin+ org | read+ run',
  'workspace run-tasks:manage': 'admin+ org | read+ run',
  'workspace policy-overrides': 'admin+ | read+ org run',
  'workspace run-triggers:manage': 'admin+ org | read+ run',
  'workspace team-access:read or team-member': 'admin+ org',
  'workspace team-access:manage': 'admin+ org | read+ run',
  'workspace tags:manage': 'admin+ org | read+ run',

  // Of a workspace or project.
  'workspace workspace:read or team team:read': 'read+ org run',
  'project project:read or team team:read': 'owner org run',
  'team team:read': 'member+ org',
  'team team:update or team organization-access:update': 'owner org | member+',
  // Of a workspace.
  'workspace workspace:read or project project:read or team team:read': 'read+ org run',
  'workspace workspace:update or project project:update or team team:update': 'admin+ org | read+ run',
  'team team:update': 'owner org | member+',
  'team team:delete': 'owner org | member+',
  'team members:manage': 'owner org | member+',
  'team tokens:manage': 'owner org | member+',
}

/** Routes that differ from the line of their access. */
const EXCEPTIONS: Record<string, string> = {
  // A team's token cannot create organizations.
  'POST /organizations': 'people',
  // Members of one organization see each other.
  'GET /users/:userId': 'member+ site org run',
  // Others do not see the membership.
  'POST /organization-memberships/:membershipId/actions/resend-invitation': 'owner org',
  // The link is unknown.
  'POST /invitations/actions/accept': 'nobody | team',
  // A run sees its organization, but not its changes.
  'GET /organizations/:organization/changes': 'member+ org',
  // A run sees the organization, but not resources of this kind.
  'POST /organizations/:organization/agent-pools': 'owner org | member+ run',
  'POST /organizations/:organization/oauth-clients': 'owner org | member+ run',
  'POST /organizations/:organization/ssh-keys': 'owner org | member+ run',
  'POST /organizations/:organization/github-app-installations/:installationId/link-account': 'owner org | member+ run',
  'POST /organizations/:organization/policies': 'owner org | member+ run',
  'POST /organizations/:organization/policy-sets': 'owner org | member+ run',
  'POST /organizations/:organization/policy-trials': 'owner org | member+ run',
  'POST /organizations/:organization/tasks': 'owner org | member+ run',
  'POST /organizations/:organization/varsets': 'owner org | member+ run',
  // Members read the variables of sets that apply to what they see.
  'GET /varsets/:variableSetId/relationships/vars/:id': 'read+ org',
  // A grant exists only for those who may read it.
  'PATCH /team-workspaces/:teamWorkspaceId': 'admin+ org',
  'DELETE /team-workspaces/:teamWorkspaceId': 'admin+ org',
  'PATCH /team-projects/:teamProjectId': 'owner org',
  'DELETE /team-projects/:teamProjectId': 'owner org',
  // 404 in place of 403, INTERFACE §5.2.1.
  'POST /agent-pools/:poolId/authentication-tokens': 'owner org',
  // 404 in place of 403, INTERFACE §4.9.5.
  'POST /state-versions/:id/actions/soft_delete_backing_data': 'owner',
  'POST /state-versions/:id/actions/restore_backing_data': 'owner',
  'POST /state-versions/:id/actions/permanently_delete_backing_data': 'owner',
  'POST /configuration-versions/:id/actions/soft_delete_backing_data': 'owner',
  'POST /configuration-versions/:id/actions/restore_backing_data': 'owner',
  'POST /configuration-versions/:id/actions/permanently_delete_backing_data': 'owner',
  // 404 in place of 403, INTERFACE §4.3.4. A run does not roll back, §4.7.3.
  'POST /workspaces/:workspaceId/state-versions': 'write+ run',
  'PATCH /workspaces/:workspaceId/state-versions': 'write+',
  // 404 in place of 403, INTERFACE §8.2.
  'POST /workspaces/:workspaceId/run-triggers': 'admin+ org',
  'DELETE /run-triggers/:triggerId': 'admin+ org',
  // For a member without access the workspace in the body does not exist: 422.
  'POST /tags/:id/relationships/workspaces': 'admin+ member org | member+ run',
  // Only versions from version control have them.
  'GET /configuration-versions/:id/ingress-attributes': 'nobody',
  // No repository has started the run.
  'GET /runs/:runId/reviewed-plan': 'nobody',
  // No host has the repository of the test.
  'GET /organizations/:organization/vcs/tree': 'nobody',
  // The module of the test has no repository.
  'GET /organizations/:organization/registry-modules/:registry/:namespace/:name/:provider/commits': 'nobody',
  // No workspace uses the repository.
  'POST /vcs-deliveries/:id/actions/replay': 'owner org',
  // There is no sample yet.
  'GET /organizations/:organization/sample': 'nobody',
  'DELETE /organizations/:organization/sample': 'nobody',
}

export type Expected = number | 'passes' | 'as all'

/** The expected response of a route to each actor. Throws for an access that is not in the table. */
export function expectedResponses({ method, options: { access } }: Route, key: string): Record<ActorName, Expected> {
  const line = lineOf(access, key)
  const [passing = '', seeing = ''] = line.replace(/^(only|nobody|public)\b/, '').split('|')
  const passes = new Set(words(passing).flatMap(actorsOf))
  // Unreadable resources do not exist.
  const readsByPermission = method === 'GET' && permissionNames(access).length > 0
  const sees = new Set(readsByPermission ? [] : words(seeing).flatMap(actorsOf))
  const refusal = line.startsWith('only') ? 401 : 404
  return record((actor) => {
    if (line === 'public') return 'as all'
    if (passes.has(actor)) return 'passes'
    if (actor === 'none' || actor === 'bad' || actor === 'task' || actor === 'job') return 401
    return sees.has(actor) ? 403 : refusal
  })
}

/** The keys of both tables, for a test that each is used. */
export const EXCEPTIONAL_ROUTES = Object.keys(EXCEPTIONS)
export const KNOWN_ACCESSES = Object.keys(ACCESS)

/** `workspace lock`; permissions that are required together are separated by commas, alternatives by `or`. */
export function accessKey(access: RouteAccess) {
  return accessAlternatives(access)
    .map((alternative) => (typeof alternative === 'string' ? alternative : permissionNames(alternative).join(', ')))
    .join(' or ')
}

/** The permissions of an access, each as `workspace lock`. */
export function permissionNames(access: RouteAccess): string[] {
  return accessAlternatives(access).flatMap((alternative) =>
    typeof alternative === 'string'
      ? []
      : requiredPermissions(alternative).flatMap(({ scope, names }) => names.map((name) => `${scope} ${name}`)),
  )
}

/** Whether the route concerns existing resources of an organization or user. */
export function isAboutResources({ options: { access } }: Route, key: string) {
  return !['public', 'nobody', 'site'].includes(lineOf(access, key))
}

function lineOf(access: RouteAccess, key: string) {
  const line = EXCEPTIONS[key] ?? ACCESS[accessKey(access)]
  if (line === undefined) throw new Error(`the table of accesses has no ${accessKey(access)}, declared by ${key}`)
  return line
}

const LEVELS: readonly ActorName[] = ['member', 'read', 'plan', 'write', 'admin', 'owner']

/** The actors of a word in the table. The team's token has the access of a member with write access. */
function actorsOf(word: string): readonly ActorName[] {
  if (word === 'people') return ['stranger', 'site', ...LEVELS]
  if (word === 'any') return ACTORS.filter((name) => !['none', 'bad', 'task', 'job'].includes(name))
  const actor = ACTORS.find((name) => name === word.replace('+', ''))
  if (!actor) throw new Error(`the table has ${word}, which is not an actor`)
  if (actor === word) return [actor]
  const from = LEVELS.indexOf(actor)
  return [...LEVELS.slice(from), ...(from <= LEVELS.indexOf('write') ? (['team'] as const) : [])]
}

function words(text: string) {
  return text.split(' ').filter((word) => word !== '')
}

function record<T>(of: (actor: ActorName) => T): Record<ActorName, T> {
  return Object.fromEntries(ACTORS.map((actor) => [actor, of(actor)])) as Record<ActorName, T>
}
