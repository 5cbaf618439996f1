import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/service.ts'
import * as store from './store.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import type { Page } from '../../../db/page.ts'

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

/** Of the whole server: all organizations, and what belongs to none, such as accounts and sign-ins. */
export async function listSiteAuditTrail(ctx: Ctx, query: { since: Date | undefined }, page: Page) {
  checkSiteAdmin(ctx)
  return store.listEvents(ctx.db, { ...query, organizationId: undefined }, page)
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
