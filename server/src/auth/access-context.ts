import { type Actor, type UserActor, hasOwnToken } from './actor.ts'
import { type OrganizationAccess, type ProjectGrant, type WorkspaceGrant, organizationAccess } from './grants.ts'
import type { SignInRequirement } from './sign-in-policy.ts'

/**
 * What decides about permissions: the actor's role in one organization, and its grants on one project or workspace
 * there.
 */
export type AccessContext = {
  role: Role
  organizationAccess: ReadonlySet<OrganizationAccess>
  projectGrants: readonly ProjectGrant[]
  workspaceGrants: readonly WorkspaceGrant[]
  /** The organization's sign-in requirement that the actor does not meet; see `checkDemands`. */
  signInRequirement?: SignInRequirement | undefined
}

/** The role of an actor in an organization, or towards a workspace of it. */
export type Role =
  | 'system'
  | 'owner'
  | 'member'
  | 'organization-token'
  /** A run of this very workspace. */
  | 'own-run'
  /** A run of another workspace that may read the state of this one. */
  | 'consumer-run'
  /** A run of a workspace in the same organization. */
  | 'foreign-run'
  | 'stranger'

export const NO_ACCESS: AccessContext = {
  role: 'stranger',
  organizationAccess: new Set(),
  projectGrants: [],
  workspaceGrants: [],
}

/** Facts as a query returns them, in one JSON column of the row that they are about; see `facts-sql.ts`. */
export type AccessColumn = {
  owner?: boolean | null
  member?: boolean | null
  /** Organization access of the actor's teams, as in `teams.organization_access`. */
  access?: number | null
  projects?: ProjectGrant[] | null
  workspaces?: WorkspaceGrant[] | null
  consumer?: boolean | null
  /** The project that the facts are about is that of the run's own workspace. */
  own_project?: boolean | null
  /** The organization's requirements for how its members sign in; null when there is no such organization. */
  sign_in?: {
    /** The organization accepts no API tokens of its members. */
    refuses_user_tokens: boolean
    /** The organization's limits for sessions, in minutes: without use, and in total. */
    idle_minutes: number | null
    minutes: number | null
    /** two-factor authentication is mandatory, and the actor is a person with a password and without two-factor authentication. */
    lacks_two_factor: boolean
  } | null
} | null

/** Rows that were selected with `sharedFactsColumn`, each with the facts about its workspace. */
export function shareAccess<Row extends { workspace_id: string; access: AccessColumn }>(rows: readonly Row[]): Row[] {
  const known = new Map(rows.flatMap(({ workspace_id: id, access }) => (access ? [[id, access] as const] : [])))
  return rows.map((row) => ({ ...row, access: known.get(row.workspace_id) ?? null }))
}

/** The grants of a listed row; the other facts are those of its organization. */
export type GrantsColumn = { projects: ProjectGrant[] | null; workspaces: WorkspaceGrant[] | null } | null

/** The facts about one row, from its `facts` column and the actor. */
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
      if (actor.workspaceId === row.workspaceId || row.access?.own_project) return { ...NO_ACCESS, role: 'own-run' }
      return { ...NO_ACCESS, role: row.access?.consumer ? 'consumer-run' : 'foreign-run' }
    }
    case 'user':
      // Non-members must not learn the organization's sign-in policy.
      if ((!row.access?.owner && !row.access?.member) || isTokenRefused(actor, row.access)) return NO_ACCESS
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

/** Whether the actor is a member of the organization, with a token of their own, which the organization does not take. */
export function isTokenRefused(actor: Actor, access: AccessColumn) {
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

/**
 * The facts about a workspace in a list within one organization: those of the organization, with the grants on the
 * workspace. Only for rows that the actor may see.
 */
export function listedAccess(organization: AccessContext, grants: GrantsColumn): AccessContext {
  return {
    ...organization,
    // A run lists no workspace but its own.
    role: organization.role === 'foreign-run' ? 'own-run' : organization.role,
    projectGrants: grants?.projects ?? [],
    workspaceGrants: grants?.workspaces ?? [],
  }
}

/**
 * Whether grants decide what the actor may do in a workspace that it lists. They don't for those who manage all
 * workspaces.
 */
export function dependsOnGrants({ role, organizationAccess }: AccessContext) {
  return role === 'member' && !organizationAccess.has('manage_workspaces')
}

/** Whether the actor sees every workspace of the organization, whatever teams grant on single ones. */
export function seesEveryWorkspace({ role, organizationAccess }: AccessContext) {
  if (role === 'member') return organizationAccess.has('manage_workspaces') || organizationAccess.has('read_workspaces')
  return role === 'system' || role === 'owner' || role === 'organization-token'
}
