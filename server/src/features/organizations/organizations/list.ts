import type { Ctx } from '../../../app.ts'
import { type Page, type Paged, pageOffset } from '../../../db/page.ts'
import { readableOrganization } from './access.ts'
import type { Organization } from './organization.ts'
import * as store from './store.ts'

export async function listOrganizations(
  ctx: Ctx,
  { page, ...filter }: store.OrganizationFilter & { page: Page },
): Promise<Paged<Organization>> {
  const { rows, total } = await store.listOrganizations(ctx.db, ctx.actor, filter, {
    limit: page.size,
    offset: pageOffset(page),
  })
  return { rows: rows.flatMap((row) => readableOrganization(ctx, row) ?? []), total }
}
