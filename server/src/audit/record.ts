import type { Compilable, OperationNodeSource } from 'kysely'
import type { Ctx, TransactionCtx } from '../app.ts'
import type { Actor } from '../auth/actor.ts'
import { type Db, transact } from '../db/db.ts'
import { timeOrderedUuid } from '../ids.ts'
import * as store from './store.ts'

export type AuditedResource = { type: string; id: string }

/** One entry of the audit trail. `action` is a verb of the public API: `create`, `update`, `destroy`, `apply` … */
export type AuditEvent = {
  /** Undefined for the whole site. A caller that does not know the organization names a workspace or run of it. */
  organizationId: string | undefined | store.InOrganization
  action: string
  /** Types in the singular and snake case, as in the public API: `workspace`, `authentication_token` … */
  resource: AuditedResource
  /** Details of the change: names of settings, not their values. Never a secret, nor a value that may contain one. */
  meta?: Record<string, unknown>
}

/**
 * Records who did what, and from where. It runs in the transaction of the change, so that both are stored or neither.
 */
export async function recordAudit(ctx: TransactionCtx, event: AuditEvent) {
  await store.eventInsert(auditRow(ctx, event)).execute(ctx.db)
}

/** Makes a change and records its event in one transaction. The event may be made from the result of the change. */
export async function audited<T>(
  ctx: Ctx,
  event: AuditEvent | ((changed: T) => AuditEvent),
  change: (ctx: TransactionCtx) => Promise<T>,
): Promise<T> {
  return transact(ctx, async (ctx) => {
    const changed = await change(ctx)
    await recordAudit(ctx, typeof event === 'function' ? event(changed) : event)
    return changed
  })
}

/**
 * Runs a change that returns its rows, and records an event for each row, in one statement: for paths on which a round
 * trip is too slow. A change without rows records nothing.
 */
export async function auditedStatement<T>(
  db: Db,
  event: store.AuditRow,
  change: Compilable<T> & OperationNodeSource,
): Promise<T[]> {
  return store.changeWithEvent(db, event, change)
}

/** The row of an event, for statements that insert it together with rows of their own; see `eventInsert`. */
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
