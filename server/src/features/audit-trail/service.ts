import { randomUUID } from 'node:crypto'
import type { Ctx } from '../../app.ts'
import type { Actor } from '../../auth/actor.ts'
import type { Tx } from '../../db/db.ts'
import { notFound } from '../../errors.ts'
import type { Page } from '../../http/pagination.ts'
import { requireOrganization } from '../organizations/service.ts'
import * as store from './store.ts'

export type AuditedResource = { type: string; id: string }

/** What is kept of a change. `action` is a verb as in the public API: `create`, `update`, `destroy`, `apply` … */
export type AuditEvent = {
  /** Undefined for what concerns the whole site. */
  organizationId: string | undefined
  action: string
  /** Types in the singular and snake case, as in the public API: `workspace`, `authentication_token` … */
  resource: AuditedResource
  meta?: Record<string, unknown>
}

/** Keeps who did what, from where. It takes a transaction: that of the change, so that neither is there without the other. */
export async function recordAudit(ctx: Ctx & { db: Tx }, event: AuditEvent) {
  const { actor, request } = ctx
  await store.insertEvent(ctx.db, {
    id: randomUUID(),
    organization_id: event.organizationId ?? null,
    ...actorColumns(actor),
    action: event.action,
    resource_type: event.resource.type,
    resource_id: event.resource.id,
    meta: event.meta === undefined ? null : JSON.stringify(event.meta),
    request_id: request?.id ?? null,
    address: request?.address ?? null,
    user_agent: request?.userAgent?.slice(0, 500) ?? null,
    created_at: ctx.now(),
  })
}

function actorColumns(actor: Actor) {
  const tokenId = 'tokenId' in actor ? (actor.tokenId ?? null) : null
  const columns = (id: string | null, name: string) => ({
    actor_type: actor.kind,
    actor_id: id,
    actor_name: name,
    token_id: tokenId,
  })
  switch (actor.kind) {
    case 'user':
      return columns(actor.userId, actor.username)
    case 'organization':
    case 'audit-trails':
      return columns(actor.organizationId, 'organization token')
    case 'agent':
      return columns(actor.agentPoolId, 'agent')
    case 'run':
      return columns(actor.runId, 'run')
    case 'task':
      return columns(actor.taskResultId, 'run task')
    case 'system':
      return columns(null, 'groundstate')
    case 'anonymous':
      return columns(null, 'anonymous')
  }
}

/**
 * The trail of the organization whose token asks: its own token, or the one for audit trails. For all others there is no
 * such resource, as in the public API; owners read by the name of the organization.
 */
export async function listOwnAuditTrail(ctx: Ctx, query: { since: Date | undefined }, page: Page) {
  const { actor } = ctx
  if (actor.kind !== 'organization' && actor.kind !== 'audit-trails') throw notFound('audit trail')
  return store.listEvents(ctx.db, { ...query, organizationId: actor.organizationId }, page)
}

export async function listAuditTrail(ctx: Ctx, name: string, query: { since: Date | undefined }, page: Page) {
  const organization = await requireOrganization(ctx, name, 'audit-trail:read')
  return store.listEvents(ctx.db, { ...query, organizationId: organization.id }, page)
}

/** So many events go in one statement. */
const SWEEP = 5000

/** Deletes what is older than the setting says. */
export async function sweepAuditTrail(ctx: Ctx, signal: AbortSignal) {
  const days = ctx.config.auditRetentionDays
  if (days === 0) return
  const before = new Date(ctx.now().getTime() - days * 86_400_000)
  while (!signal.aborted && (await store.deleteEventsBefore(ctx.db, before, SWEEP)) === SWEEP);
}
