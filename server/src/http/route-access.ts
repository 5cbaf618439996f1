import type { OrganizationPermission, ProjectPermission, WorkspacePermission } from '../auth/permissions.ts'
import type { TeamPermission } from '../auth/team-permissions.ts'

/** Callers that a route admits for what they are, with the words that complete `needs …` in the API's documentation. */
const CALLERS = {
  public: 'no token',
  signed: 'a valid signature in the URL or of the body, and no token',
  'signed-in': 'any valid token or session; what its owner may not see is left out or answered with 404',
  user: 'the token or session of a user, or the token of a team',
  person: 'the token or session of a person',
  self: 'the token or session of the person whom it is about',
  'team-member': 'membership in the team that it is about',
  session: "a browser's session",
  'site-admin': 'the rights of a site administrator',
  'organization-token': 'the token of an organization, or its token for audit trails',
  agent: 'the token of an agent pool',
  job: 'the token of the job',
  'task-request': 'the token of the task request',
  task: 'the access token of the task result',
} as const

type Caller = keyof typeof CALLERS

type PermissionsByScope = {
  organization: OrganizationPermission
  project: ProjectPermission
  workspace: WorkspacePermission
  team: TeamPermission
}

/** The permissions that a caller needs, by subject; all of them are required. */
type NeededPermissions = {
  readonly [Scope in keyof PermissionsByScope]?: PermissionsByScope[Scope] | readonly PermissionsByScope[Scope][]
}

type Alternative = Caller | NeededPermissions

/**
 * The callers that may use a route. In a list each item is enough where it applies: a variable set belongs to an organization or to a
 * project, and permissions there decide. Admission acts on the callers that it can tell apart (`takesNoToken`, `admitsTask`,
 * `isForSiteAdmins`); permissions are checked by the guard of the route.
 */
export type RouteAccess = Alternative | readonly [Alternative, ...Alternative[]]

/** The needed permissions by scope, as `{ scope: 'workspace', names: ['lock'] }`. */
export function neededPermissions(needed: NeededPermissions) {
  return Object.entries(needed).map(([scope, names]) => ({ scope, names: [names].flat() }))
}

export function accessAlternatives(access: RouteAccess): readonly Alternative[] {
  return [access].flat() as readonly Alternative[]
}

const WITHOUT_TOKEN: readonly unknown[] = ['public', 'signed', 'job', 'task-request'] satisfies Caller[]

/**
 * Whether admission looks at no token. The token of a job or of a task request is checked by the query that loads the
 * job or the request.
 */
export function takesNoToken(access: RouteAccess) {
  return accessAlternatives(access).every((alternative) => WITHOUT_TOKEN.includes(alternative))
}

/** Whether the access token of a task result is admitted. The handler checks that it is the right one. */
export function admitsTask(access: RouteAccess) {
  return accessAlternatives(access).includes('task')
}

/** Whether the route responds 404 to everyone except site administrators. */
export function isForSiteAdmins(access: RouteAccess) {
  return accessAlternatives(access).every((alternative) => alternative === 'site-admin')
}

/** The sentence of the API's documentation: ``Needs the permission `lock` on the workspace.`` */
export function describeAccess(access: RouteAccess) {
  const alternatives = accessAlternatives(access).map((alternative) =>
    typeof alternative === 'string' ? CALLERS[alternative] : describePermissions(alternative),
  )
  return `Needs ${alternatives.join(', or ')}.`
}

function describePermissions(needed: NeededPermissions) {
  const parts = neededPermissions(needed).map(({ scope, names }) => {
    const noun = names.length === 1 ? 'permission' : 'permissions'
    return `the ${noun} ${listNames(names)} ${scope === 'organization' ? 'in' : 'on'} the ${scope}`
  })
  return parts.join(' and ')
}

/** `a`, `b` and `c`, as Markdown. */
function listNames(names: readonly string[]) {
  return new Intl.ListFormat('en-GB').format(names.map((name) => `\`${name}\``))
}

/** An event of the audit trail by the type of its resource and its action: `workspace lock`. */
export type AuditEventName = `${string} ${string}`

/**
 * The events that a route records in the audit trail, each once, however often the request causes it. A route that writes and records
 * nothing gives the reason.
 */
export type RouteAudit = AuditEventName | readonly [AuditEventName, ...AuditEventName[]] | { readonly none: string }

/** The names of the events; none for a route that records nothing. */
export function auditEventNames(audit: RouteAudit): readonly AuditEventName[] {
  if (typeof audit === 'string') return [audit]
  return 'none' in audit ? [] : audit
}

/** The sentence of the API's documentation: ``The audit trail records `workspace lock`.`` */
export function describeAudit(audit: RouteAudit) {
  const isNothing = typeof audit === 'object' && 'none' in audit
  return isNothing
    ? `The audit trail records nothing: ${audit.none}.`
    : `The audit trail records ${listNames(auditEventNames(audit))}.`
}
