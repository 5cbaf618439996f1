import type { Ctx } from '../../../app.ts'
import { listReadableOrganizations } from '../../organizations/organizations/access.ts'
import { permittedModule } from './access.ts'
import * as store from './store.ts'

type SearchModules = {
  /** Words of addresses, all of which must match. */
  query?: string | undefined
  namespace?: string | undefined
  provider?: string | undefined
  limit: number
  offset: number
}

/** Modules with published versions, of all organizations whose registry the actor may read. `isLast` unless more follow. */
export async function searchModules(ctx: Ctx, { query = '', namespace, provider, limit, offset }: SearchModules) {
  const ids = await store.listPublishingOrganizations(ctx.db)
  const organizations = (await listReadableOrganizations(ctx, ids)).filter(
    ({ name, can }) =>
      can.has('registry:read') && (namespace === undefined || name.toLowerCase() === namespace.toLowerCase()),
  )
  const terms = query.split(/\s+/).filter((term) => term !== '')
  const page = { terms, provider, limit: limit + 1, offset }
  const rows = await store.listPublished(
    ctx.db,
    organizations.map(({ id }) => id),
    page,
  )
  const permissions = new Map(organizations.map(({ id, can }) => [id, can]))
  const modules = rows
    .slice(0, limit)
    .map((row) => permittedModule(ctx, row, permissions.get(row.organization_id) ?? new Set()))
  return { modules, isLast: rows.length <= limit }
}
