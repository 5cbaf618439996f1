import type { OrganizationPermission, ProjectPermission, WorkspacePermission } from '../auth/permissions.ts'
import type { TeamPermission } from '../auth/team-permissions.ts'

/** Kinds of callers that a route admits, with the text that completes `Needs …` in the API's documentation. */
const CALLERS = {
  public: 'no token',
  signed: 'a valid signature in the URL or of the body, and no token',
  'signed-in': 'any valid token or session; resources that its owner may not see are left out or not found',
  user: 'the token or session of a user, or the token of a team',
  person: 'the token or session of a person',
  self: 'the token or session of that person',
  'team-member': 'membership in the team',
  session: "a browser's session",
  'site-admin': 'the rights of a site administrator',
  'organization-token': 'the token of an organization, or its token for audit trails',
  agent: 'the token of an agent pool',
  job: 'the token of the job',
  'task-request': 'the token of the task request',
  task: 'the access token of the task result',
} as const

type Caller = keyof typeof CALLERS
type OneOrMore<Permission> = Permission | readonly Permission[]

type RequiredPermissions = {
  readonly organization?: OneOrMore<OrganizationPermission>
  readonly project?: OneOrMore<ProjectPermission>
  readonly workspace?: OneOrMore<WorkspacePermission>
  readonly team?: OneOrMore<TeamPermission>
}

type Alternative = Caller | RequiredPermissions

/**
 * The callers that may use a route. Each item of a list is sufficient where it applies: a variable set belongs to an organization or to a project,
 * whose permissions decide. Admission checks only what it can distinguish (`takesNoToken`, `admitsTask`, `isForSiteAdmins`); permissions are
 * checked by the guard of the route.
 */
export type RouteAccess = Alternative | readonly [Alternative, ...Alternative[]]

/** The required permissions by scope, as `{ scope: 'workspace', names: ['lock'] }`. */
export function requiredPermissions(permissions: RequiredPermissions) {
  return Object.entries(permissions).map(([scope, names]) => ({ scope, names: [names].flat() }))
}

export function accessAlternatives(access: RouteAccess): readonly Alternative[] {
  return [access].flat() as readonly Alternative[]
}

const WITHOUT_TOKEN: readonly unknown[] = ['public', 'signed', 'job', 'task-request'] satisfies Caller[]

/** Whether admission ignores tokens. The token of a job or of a task request is checked by the query that loads it. */
export function takesNoToken(access: RouteAccess) {
  return accessAlternatives(access).every((alternative) => WITHOUT_TOKEN.includes(alternative))
}

/** Whether anyone may use the route; the signature of a body is checked by the handler. */
export function takesNoCredentials(access: RouteAccess) {
  return accessAlternatives(access).every((alternative) => alternative === 'public' || alternative === 'signed')
}

/** Whether the access tokens of task results are admitted. The handler checks the result. */
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

function describePermissions(permissions: RequiredPermissions) {
  return requiredPermissions(permissions)
    .map(({ scope, names }) => {
      const noun = names.length === 1 ? 'permission' : 'permissions'
      return `the ${noun} ${listNames(names)} ${scope === 'organization' ? 'in' : 'on'} the ${scope}`
    })
    .join(' and ')
}

/** `a`, `b` and `c`, as Markdown. */
function listNames(names: readonly string[]) {
  return new Intl.ListFormat('en-GB').format(names.map((name) => `\`${name}\``))
}

/** An audit event by resource type and action: `workspace lock`. */
export type AuditEventName = `${string} ${string}`

/** The events that a route records in the audit trail, each listed once, or the reason why a writing route records none. */
export type RouteAudit = AuditEventName | readonly [AuditEventName, ...AuditEventName[]] | { readonly none: string }

export function auditEventNames(audit: RouteAudit): readonly AuditEventName[] {
  if (typeof audit === 'string') return [audit]
  return 'none' in audit ? [] : audit
}

/** The sentence of the API's documentation: ``The audit trail records `workspace lock`.`` */
export function describeAudit(audit: RouteAudit) {
  return typeof audit === 'object' && 'none' in audit
    ? `The audit trail records nothing: ${audit.none}.`
    : `The audit trail records ${listNames(auditEventNames(audit))}.`
}
