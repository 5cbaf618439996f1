import type { Ctx, TransactionCtx } from '../app.ts'
import type { Actor } from '../auth/actor.ts'
import { announce, announceAccess } from '../changes/announce.ts'
import type { Notice } from '../changes/feed.ts'
import { isDefinitelyRejected, transact } from '../db/db.ts'
import { deferWrite } from '../db/pipeline.ts'
import { rowsOf } from '../db/template.ts'
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
  /**
   * What open pages are notified of, in the organization of the event; empty for what no page shows, and where the caller announces it
   * itself.
   */
  notices: readonly Omit<Notice, 'organization'>[]
  /** Whether it may give or take what people see: the streams of the organization check that at once. */
  changesAccess?: boolean
}

/**
 * Records who did what, and from where. It runs in the transaction of the change, so that both are stored or neither.
 */
export async function recordAudit(ctx: TransactionCtx, event: AuditEvent) {
  await deferWrite(ctx.db, store.insertEvent(auditRow(ctx, event)))
  announceEvent(ctx, event)
}

/** Announces an event whose row the caller inserts in its transaction (`auditRow`). */
export function announceEvent(ctx: Ctx, { organizationId, notices, changesAccess = false }: AuditEvent) {
  if (typeof organizationId === 'string') {
    announce(ctx, ...notices.map((notice) => ({ organization: organizationId, ...notice })))
  }
  if (changesAccess) announceAccess(ctx, typeof organizationId === 'string' ? organizationId : undefined)
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
 * Executes a change with an event for each row that it returns, in one statement: for paths on which a round trip is too slow. `change` is
 * made by `changeWithEvent`. A change without rows records nothing.
 */
export async function auditedStatement<Values, Row>(
  ctx: Ctx,
  event: AuditEvent,
  { change, values }: { change: ReturnType<typeof store.changeWithEvent<Values, Row>>; values: Values },
): Promise<Row[]> {
  const rows = await announced(ctx, event, async () => {
    const changed = await rowsOf(ctx.db, change({ change: values, event: auditRow(ctx, event) }))
    return changed.length > 0 ? changed : undefined
  })
  return rows ?? []
}

/** Announces the event of a change whose statement inserts the event's row too (`auditRow`), unless the change returns undefined. */
export async function announced<T>(
  ctx: Ctx,
  event: AuditEvent,
  change: () => Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    const changed = await change()
    if (changed !== undefined) announceEvent(ctx, event)
    return changed
  } catch (error) {
    // It may have been committed all the same.
    if (!isDefinitelyRejected(error)) announceEvent(ctx, event)
    throw error
  }
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
