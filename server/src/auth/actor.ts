import { notFound } from '../errors.ts'

/**
 * Who asks. A team's token acts as the team's service account, so it is a user with a `teamId`: one rule holds for
 * people and team tokens, and what only people may do checks `teamId`.
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
  /** The browser's session in use, when there is one. */
  sessionId?: string
  /** How old the session is, and the longest that it went without use: organizations limit both. */
  sessionAge?: { minutes: number; idleMinutes: number }
}
export type OrganizationActor = { kind: 'organization'; organizationId: string; tokenId: string }
/** Reads the audit trail of its organization and nothing else. */
export type AuditActor = { kind: 'audit-trails'; organizationId: string; tokenId: string }
/** An agent of a pool: speaks the agent protocol and nothing else. The pool of the server itself has no organization. */
export type AgentActor = { kind: 'agent'; agentPoolId: string; organizationId: string | null; tokenId: string }
/** The engine and the agent at work for one run. */
export type RunActor = { kind: 'run'; runId: string; workspaceId: string; organizationId: string; tokenId: string }
/** A receiver that was handed the access token of one task result. */
export type TaskActor = { kind: 'task'; taskResultId: string; runId: string; tokenId: string }
/** The server itself: background jobs and start-up. Passes every gate. */
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

/** A person of whom we know by other means than a token that it is them. */
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

/** Administrators of the site, and the server itself; not the service account of a team. */
export function isSiteAdmin(actor: Actor) {
  return actor.kind === 'system' || (actor.kind === 'user' && actor.isSiteAdmin && actor.teamId === undefined)
}

/** The user as whom something is created or locked, for `created_by` columns; null when no user is behind the actor. */
export function actorUserId(actor: Actor) {
  return actor.kind === 'user' ? actor.userId : null
}

/** Lets site administrators and the server itself pass; for all others there is nothing here. */
export function checkSiteAdmin({ actor }: { actor: Actor }) {
  if (!isSiteAdmin(actor)) throw notFound('resource')
}
