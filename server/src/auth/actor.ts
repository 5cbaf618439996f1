import { notFound } from '../errors.ts'

/**
 * A person or a team. A team's token acts as its service account, a user with a `teamId`, so people and teams share one set of rules.
 * Operations reserved for people check `teamId`.
 */
export type UserActor = {
  kind: 'user'
  userId: string
  username: string
  isSiteAdmin: boolean
  teamId: string | undefined
  /** That of a team's token. */
  organizationId?: string
  /** Undefined for a browser session. */
  tokenId: string | undefined
  sessionId?: string
  /** Age of the session and its longest period without use. Organizations limit both. */
  sessionAge?: { minutes: number; idleMinutes: number }
}
export type OrganizationActor = { kind: 'organization'; organizationId: string; tokenId: string }
/** May only read the audit trail of its organization. */
export type AuditActor = { kind: 'audit-trails'; organizationId: string; tokenId: string }
/** An agent of a pool; may only use the agent protocol. The built-in pool has no organization. */
export type AgentActor = { kind: 'agent'; agentPoolId: string; organizationId: string | null; tokenId: string }
export type RunActor = {
  kind: 'run'
  runId: string
  workspaceId: string
  organizationId: string
  tokenId: string
  /** The configuration comes from a fork: the engine may read only the state of its workspace. */
  withholdsSecrets: boolean
  /** Names by which the engine addresses its workspace from the plan to the end of the apply, regardless of renames. */
  names?: EngineNames | undefined
}
export type EngineNames = { organization: string; workspace: string }
/** The receiver of a run task, with the token of one task result. */
export type TaskActor = { kind: 'task'; taskResultId: string; runId: string; tokenId: string }
/** The server, for background jobs and start-up. It may do everything. */
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

/** The id of the resource that the actor acts as, for the log and the audit trail. */
export function actorId(actor: Actor): string | undefined {
  switch (actor.kind) {
    case 'user':
      return actor.userId
    case 'organization':
    case 'audit-trails':
      return actor.organizationId
    case 'agent':
      return actor.agentPoolId
    case 'run':
      return actor.runId
    case 'task':
      return actor.taskResultId
    case 'system':
    case 'anonymous':
      return undefined
  }
}

/** Whose requests count together where limits share resources: a person's, or those of all tokens, agents and runs of an organization. */
export function callerId(actor: Actor): string | undefined {
  const organizationId = 'organizationId' in actor ? actor.organizationId : undefined
  return organizationId ?? actorId(actor)
}

/** The actor for a user who is authenticated without an API token. */
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

/** Whether the actor is a site administrator or the server. The service account of a team never is. */
export function isSiteAdmin(actor: Actor) {
  return actor.kind === 'system' || (actor.kind === 'user' && actor.isSiteAdmin && actor.teamId === undefined)
}

/** Whether the actor is a person with an API token, as opposed to a session or a team token. */
export function hasOwnToken(actor: Actor) {
  return actor.kind === 'user' && actor.tokenId !== undefined && actor.teamId === undefined
}

/** The id of the actor's user, for columns such as `created_by`; null without one. */
export function actorUserId(actor: Actor) {
  return actor.kind === 'user' ? actor.userId : null
}

/** Names by which the engine of a run addresses its workspace; undefined before the plan starts. */
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

/** Throws `not-found` except for site administrators and the server. */
export function checkSiteAdmin({ actor }: { actor: Actor }) {
  if (!isSiteAdmin(actor)) throw notFound('resource')
}
