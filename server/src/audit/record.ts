import type { Compilable, OperationNodeSource } from 'kysely'
import type { Ctx, TransactionCtx } from '../app.ts'
import type { Actor } from '../auth/actor.ts'
import { type Db, transact, type Tx } from '../db/db.ts'
import { timeOrderedUuid } from '../ids.ts'
import * as store from './store.ts'

export type AuditedResource = { type: string; id: string }

/** What is kept of a change. `action` is a verb as in the public API: `create`, `update`, `destroy`, `apply` … */
export type AuditEvent = {
  /** Undefined for what concerns the whole site; or a workspace or run, for callers that don't know whose it is. */
  organizationId: string | undefined | store.InOrganization
  action: string
  /** Types in the singular and snake case, as in the public API: `workspace`, `authentication_token` … */
  resource: AuditedResource
  /** What helps to understand the change; never a secret, nor what may hold one: names of settings, not their values. */
  meta?: Record<string, unknown>
}

/** Keeps who did what, from where. It takes a transaction: that of the change, so that neither is there without the other. */
export async function recordAudit(ctx: TransactionCtx, event: AuditEvent) {
  await store.eventInsert(auditRow(ctx, event)).execute(ctx.db)
}

/** Makes a change and keeps its event in one transaction. The event may need what the change returns. */
export async function audited<T>(
  ctx: Ctx,
  event: AuditEvent | ((changed: T) => AuditEvent),
  change: (ctx: Omit<Ctx, 'db'> & { db: Tx }) => Promise<T>,
): Promise<T> {
  return transact(ctx, async (ctx) => {
    const changed = await change(ctx)
    await recordAudit(ctx, typeof event === 'function' ? event(changed) : event)
    return changed
  })
}

/**
 * Runs a change that returns its rows, and keeps an event for each of them, as one statement: for paths where a round
 * trip counts. No row, no event.
 */
export async function auditedStatement<T>(
  db: Db,
  event: store.AuditRow,
  change: Compilable<T> & OperationNodeSource,
): Promise<T[]> {
  return store.changeWithEvent(db, event, change)
}

/** An event as the row that it becomes, for statements that insert it along with their own; see `eventInsert`. */
export function auditRow(ctx: Ctx, event: AuditEvent): store.AuditRow {
  const { actor, request } = ctx
  const now = ctx.now()
  return {
    id: timeOrderedUuid(now),
    organization: event.organizationId ?? null,
    ...actorColumns(actor),
    action: event.action,
    resource_type: event.resource.type,
    resource_id: event.resource.id,
    meta: event.meta === undefined ? null : JSON.stringify(event.meta),
    request_id: request?.id ?? null,
    address: request?.address ?? null,
    user_agent: request?.userAgent?.slice(0, 500) ?? null,
    created_at: now,
  }
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
