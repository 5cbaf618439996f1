import type { Ctx, TransactionCtx } from '../app.ts'
import { type Actor, actorId } from '../auth/actor.ts'
import { announce, announceAccess } from '../changes/announce.ts'
import type { Notice } from '../changes/feed.ts'
import { isDefinitelyRejected, limitedPerCaller, transact } from '../db/db.ts'
import { deferWrite } from '../db/pipeline.ts'
import { insertRows } from '../db/sql.ts'
import { rowsOf } from '../db/template.ts'
import { timeOrderedUuid } from '../ids.ts'
import { type SettingsChange, settingsMeta } from './settings.ts'
import * as store from './store.ts'

export type AuditEvent = {
  /** Undefined for the whole site. A caller that does not know the organization names a workspace or run of it. */
  organizationId: string | undefined | store.InOrganization
  /** A verb of the public API: `create`, `update`, `destroy`, `apply` … */
  action: string
  /** `type` is singular and in snake case, as in the public API: `workspace`, `authentication_token` … */
  resource: { type: string; id: string }
  /** Details of the change. Never a secret or a value that may contain one. */
  meta?: Record<string, unknown>
  /** Settings that an update changes: `meta` gets their values before and after. */
  settings?: SettingsChange
  /** Change notices in the organization of the event; empty if no page shows the change or the caller announces it. */
  notices: readonly Omit<Notice, 'organization'>[]
  /** Whether the change may affect what users can see: the organization's streams then check access at once. */
  changesAccess?: boolean
}

/** Records an event in the transaction of its change. */
export async function recordAudit(ctx: TransactionCtx, event: AuditEvent) {
  await deferWrite(ctx.db, store.insertEvent(auditRow(ctx, event)))
  announceEvent(ctx, event)
}

type SiteAuditCtx = Pick<TransactionCtx, 'db' | 'actor' | 'now' | 'request'>

/** As `recordAudit`, for an event of the whole site, which is not announced: for commands that work on the database without a server. */
export async function recordSiteAudit(ctx: SiteAuditCtx, event: Omit<AuditEvent, 'organizationId' | 'notices'>) {
  await deferWrite(ctx.db, store.insertEvent(auditRow(ctx, { ...event, organizationId: undefined, notices: [] })))
}

/** As `recordAudit`, for several events, whose `organizationId` is a text. */
export async function recordAudits(ctx: TransactionCtx, events: readonly AuditEvent[]) {
  if (events.length === 0) return
  const rows = events.map((event) => {
    const { organization, ...row } = auditRow(ctx, event)
    if (typeof organization !== 'string') throw new Error('several events need the id of their organization')
    return { ...row, organization_id: organization, meta: metaOf(event) ?? null }
  })
  await deferWrite(ctx.db, insertRows(ctx.db, 'audit_events', rows))
  for (const event of events) announceEvent(ctx, event)
}

/** Announces an event whose row the caller inserts in its transaction (`auditRow`). */
export function announceEvent(ctx: Ctx, { organizationId, notices, changesAccess = false }: AuditEvent) {
  if (typeof organizationId === 'string') {
    announce(ctx, ...notices.map((notice) => ({ organization: organizationId, ...notice })))
  }
  if (changesAccess) announceAccess(ctx, typeof organizationId === 'string' ? organizationId : undefined)
}

/** Executes a change and records its event in one transaction. The event may depend on the result of the change. */
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
 * Executes a change created by `changeWithEvent`, with an event for each row that it returns, in one statement: for paths on which another
 * round trip is too slow.
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

/** Announces the event of a change whose statement also inserts the event's row (`auditRow`), unless the change returns undefined. */
export async function announced<T>(ctx: Ctx, event: AuditEvent, change: () => Promise<T | undefined>) {
  try {
    const changed = await limitedPerCaller(ctx, change)
    if (changed !== undefined) announceEvent(ctx, event)
    return changed
  } catch (error) {
    // It may have been committed.
    if (!isDefinitelyRejected(error)) announceEvent(ctx, event)
    throw error
  }
}

/** The row of an event, for statements that insert it with other rows; see `eventInsert`. */
export function auditRow(ctx: Pick<Ctx, 'actor' | 'now' | 'request'>, event: AuditEvent): store.AuditRow {
  const { actor, request } = ctx
  const now = ctx.now()
  const meta = metaOf(event)
  return {
    id: timeOrderedUuid(now),
    organization: event.organizationId ?? null,
    actor_type: actor.kind,
    actor_id: actorId(actor) ?? null,
    actor_name: actor.kind === 'user' ? actor.username : ACTOR_NAMES[actor.kind],
    token_id: 'tokenId' in actor ? (actor.tokenId ?? null) : null,
    action: event.action,
    resource_type: event.resource.type,
    resource_id: event.resource.id,
    meta: meta === undefined ? null : JSON.stringify(meta),
    request_id: request?.id ?? null,
    address: request?.address ?? null,
    user_agent: request?.userAgent?.slice(0, 500) ?? null,
    created_at: now,
  }
}

function metaOf({ meta, settings }: AuditEvent) {
  return settings === undefined ? meta : { ...meta, ...settingsMeta(settings) }
}

const ACTOR_NAMES = {
  organization: 'organization token',
  'audit-trails': 'organization token',
  agent: 'agent',
  run: 'run',
  task: 'run task',
  system: 'groundstate',
  anonymous: 'anonymous',
} as const satisfies Record<Exclude<Actor['kind'], 'user'>, string>
