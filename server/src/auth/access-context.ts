import { type Actor, type UserActor, hasOwnToken } from './actor.ts'
import { type OrganizationAccess, type ProjectGrant, type WorkspaceGrant, organizationAccess } from './grants.ts'
import type { SignInRequirement } from './sign-in-policy.ts'

/** The input of all permission rules: the actor's role in one organization, and its grants on one project or workspace there. */
export type AccessContext = {
  role: Role
  organizationAccess: ReadonlySet<OrganizationAccess>
  projectGrants: readonly ProjectGrant[]
  workspaceGrants: readonly WorkspaceGrant[]
  /** The sign-in requirement of the organization that the actor does not meet; see `checkSignInPolicy`. */
  signInRequirement?: SignInRequirement | undefined
}

/** The role of an actor in an organization or one of its workspaces. */
export type Role =
  | 'system'
  | 'owner'
  | 'member'
  | 'organization-token'
  | 'own-run'
  /** A run that may only read the state: that of a workspace that shares it, or of a fork's configuration in its own. */
  | 'consumer-run'
  /** Any other run of the organization. */
  | 'foreign-run'
  | 'stranger'

export const NO_ACCESS: AccessContext = {
  role: 'stranger',
  organizationAccess: new Set(),
  projectGrants: [],
  workspaceGrants: [],
}

/** The access context as one JSON column of the row that it is about; see `access-sql.ts`. */
export type AccessColumn = {
  owner?: boolean | null
  member?: boolean | null
  /** Organization access of the actor's teams, as in `teams.organization_access`. */
  access?: number | null
  projects?: ProjectGrant[] | null
  workspaces?: WorkspaceGrant[] | null
  consumer?: boolean | null
  own_project?: boolean | null
  /** Sign-in policy of the organization; null if the organization does not exist. */
  sign_in?: {
    refuses_user_tokens: boolean
    /** Session limits in minutes: without use, and in total. */
    idle_minutes: number | null
    minutes: number | null
    /** Two-factor authentication is mandatory, and the actor signs in with a password only. */
    lacks_two_factor: boolean
  } | null
} | null

/** Copies the access column that `sharedAccessColumn` selected once per workspace to all rows of that workspace. */
export function shareAccess<Row extends { workspace_id: string; access: AccessColumn }>(rows: readonly Row[]): Row[] {
  const known = new Map(rows.filter(({ access }) => access).map((row) => [row.workspace_id, row.access]))
  return rows.map((row) => ({ ...row, access: known.get(row.workspace_id) ?? null }))
}

/** The grants of a listed row; the rest of its access context is that of the organization. */
export type GrantsColumn = { projects: ProjectGrant[] | null; workspaces: WorkspaceGrant[] | null } | null

/** The access context of one row, from its access column and the actor. */
export function readAccessContext(
  actor: Actor,
  row: { organizationId: string; workspaceId?: string; access: AccessColumn },
): AccessContext {
  switch (actor.kind) {
    case 'system':
      return { ...NO_ACCESS, role: 'system' }
    case 'organization':
      return { ...NO_ACCESS, role: actor.organizationId === row.organizationId ? 'organization-token' : 'stranger' }
    case 'run': {
      if (actor.organizationId !== row.organizationId) return NO_ACCESS
      if (actor.withholdsSecrets) {
        const isOwn = row.workspaceId === undefined || row.workspaceId === actor.workspaceId
        return { ...NO_ACCESS, role: isOwn ? 'consumer-run' : 'foreign-run' }
      }
      if (actor.workspaceId === row.workspaceId || row.access?.own_project) return { ...NO_ACCESS, role: 'own-run' }
      return { ...NO_ACCESS, role: row.access?.consumer ? 'consumer-run' : 'foreign-run' }
    }
    case 'user':
      // Non-members must not learn the organization's sign-in policy.
      if ((!row.access?.owner && !row.access?.member) || isTokenRejected(actor, row.access)) return NO_ACCESS
      return {
        role: row.access.owner ? 'owner' : 'member',
        organizationAccess: organizationAccess(row.access.access ?? 0),
        projectGrants: row.access?.projects ?? [],
        workspaceGrants: row.access?.workspaces ?? [],
        signInRequirement: unmetSignInRequirement(actor, row.access),
      }
    case 'agent':
    case 'audit-trails':
    case 'task':
    case 'anonymous':
      return NO_ACCESS
  }
}

/** Whether the actor is a member whose own API token the organization does not accept. */
export function isTokenRejected(actor: Actor, access: AccessColumn) {
  return Boolean((access?.owner || access?.member) && access.sign_in?.refuses_user_tokens) && hasOwnToken(actor)
}

function unmetSignInRequirement(actor: UserActor, access: NonNullable<AccessColumn>): SignInRequirement | undefined {
  if (access.sign_in?.lacks_two_factor) return 'two-factor'
  const age = actor.sessionAge
  if (!age || !access.sign_in) return undefined
  const { idle_minutes: idle, minutes } = access.sign_in
  const isOver = age.idleMinutes >= (idle ?? Infinity) || age.minutes >= (minutes ?? Infinity)
  return isOver ? 'new-session' : undefined
}

/** The access context of a workspace in a list within one organization. Only for rows that the actor may see. */
export function listedAccess(organization: AccessContext, grants: GrantsColumn): AccessContext {
  return {
    ...organization,
    // A run can only list its own workspace.
    role: organization.role === 'foreign-run' ? 'own-run' : organization.role,
    projectGrants: grants?.projects ?? [],
    workspaceGrants: grants?.workspaces ?? [],
  }
}

/** Whether grants affect the actor's permissions on a listed workspace. They do not for those who manage all workspaces. */
export function dependsOnGrants({ role, organizationAccess }: AccessContext) {
  return role === 'member' && !organizationAccess.has('manage_workspaces')
}

export function seesEveryWorkspace({ role, organizationAccess }: AccessContext) {
  if (role === 'member') return organizationAccess.has('manage_workspaces') || organizationAccess.has('read_workspaces')
  return role === 'system' || role === 'owner' || role === 'organization-token'
}
