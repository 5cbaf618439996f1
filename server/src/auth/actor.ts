import { notFound } from '../errors.ts'

/**
 * A person, or a team. The token of a team acts as the team's service account, so it is a user with a `teamId`: people
 * and teams share one set of rules. What only people may do checks `teamId`.
 */
export type UserActor = {
  kind: 'user'
  userId: string
  username: string
  isSiteAdmin: boolean
  /** Set when this is the service account of a team. */
  teamId: string | undefined
  /** The API token in use; undefined for a browser's session. */
  tokenId: string | undefined
  /** The browser's session in use; undefined for an API token. */
  sessionId?: string
  /** The age of the session and its longest time without use. Organizations limit both. */
  sessionAge?: { minutes: number; idleMinutes: number }
}
export type OrganizationActor = { kind: 'organization'; organizationId: string; tokenId: string }
/** May read the audit trail of its organization, and nothing else. */
export type AuditActor = { kind: 'audit-trails'; organizationId: string; tokenId: string }
/**
 * An agent of a pool; may use the agent protocol, and nothing else. The pool of the server itself has no organization.
 */
export type AgentActor = { kind: 'agent'; agentPoolId: string; organizationId: string | null; tokenId: string }
/** The engine that executes one run. */
export type RunActor = {
  kind: 'run'
  runId: string
  workspaceId: string
  organizationId: string
  tokenId: string
  /** The names by which the engine knows its workspace from the plan to the end of the apply, regardless of renames. */
  names?: EngineNames | undefined
}
export type EngineNames = { organization: string; workspace: string }
/** The receiver of a run task, with the access token of one task result. */
export type TaskActor = { kind: 'task'; taskResultId: string; runId: string; tokenId: string }
/** The server itself: background jobs and start-up. It may do everything. */
export type SystemActor = { kind: 'system' }
export type AnonymousActor = { kind: 'anonymous' }

export type Actor =
  | UserActor
  | OrganizationActor
  | AuditActor
  | AgentActor
  | RunActor
  | TaskActor
  | SystemActor
  | AnonymousActor

/** The actor for a user whose identity is established without an API token. */
export function userActor(
  user: { id: string; username: string; is_site_admin: boolean },
  sessionId?: string,
): UserActor {
  const { id: userId, username, is_site_admin: isSiteAdmin } = user
  const session = sessionId === undefined ? {} : { sessionId }
  return { kind: 'user', userId, username, isSiteAdmin, teamId: undefined, tokenId: undefined, ...session }
}

export const SYSTEM: SystemActor = { kind: 'system' }
export const ANONYMOUS: AnonymousActor = { kind: 'anonymous' }

/** Whether the actor is an administrator of the site, or the server itself. The service account of a team never is. */
export function isSiteAdmin(actor: Actor) {
  return actor.kind === 'system' || (actor.kind === 'user' && actor.isSiteAdmin && actor.teamId === undefined)
}

/** Whether the actor is a person with an API token: no session, and no token of a team. */
export function hasOwnToken(actor: Actor) {
  return actor.kind === 'user' && actor.tokenId !== undefined && actor.teamId === undefined
}

/** The id of the user behind the actor, for columns such as `created_by`; null when there is none. */
export function actorUserId(actor: Actor) {
  return actor.kind === 'user' ? actor.userId : null
}

/** The names by which the engine of a run knows its workspace; undefined before its plan has started. */
export function engineNames(run: {
  engine_organization_name: string | null
  engine_workspace_name: string | null
}): EngineNames | undefined {
  const { engine_organization_name: organization, engine_workspace_name: workspace } = run
  return organization === null || workspace === null ? undefined : { organization, workspace }
}

/** Whether the actor is an engine that addresses the organization of its run by this name. */
export function isOwnOrganizationName(actor: Actor, name: string): actor is RunActor {
  return actor.kind === 'run' && actor.names?.organization.toLowerCase() === name.toLowerCase()
}

/** Throws `not-found` for everyone except site administrators and the server itself. */
export function checkSiteAdmin({ actor }: { actor: Actor }) {
  if (!isSiteAdmin(actor)) throw notFound('resource')
}
