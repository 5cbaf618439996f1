import type { Ctx } from '../../../app.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import type { Page } from '../../../db/page.ts'
import { notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import * as store from './store.ts'

type Query = { since: Date | undefined }

/**
 * The trail of the organization that the token belongs to: an organization's own token, or its token for audit trails.
 * As in the public API it does not exist for anybody else. Owners read the trail by the name of the organization.
 */
export async function listOwnAuditTrail(ctx: Ctx, query: Query, page: Page) {
  const { actor } = ctx
  if (actor.kind !== 'organization' && actor.kind !== 'audit-trails') throw notFound('audit trail')
  return store.listEvents(ctx.db, { ...query, organizationId: actor.organizationId }, page)
}

export async function listAuditTrail(ctx: Ctx, name: string, query: Query, page: Page) {
  const organization = await requireOrganization(ctx, name, 'audit-trail:read')
  return store.listEvents(ctx.db, { ...query, organizationId: organization.id }, page)
}

/** The trail of the whole server: all organizations, and what belongs to none, such as accounts and sign-ins. */
export async function listSiteAuditTrail(ctx: Ctx, query: Query, page: Page) {
  checkSiteAdmin(ctx)
  return store.listEvents(ctx.db, { ...query, organizationId: undefined }, page)
}
