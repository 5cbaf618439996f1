import type { Ctx } from '../../app.ts'
import { type GrantsColumn, seesEveryWorkspace } from '../../auth/facts.ts'
import { type Facts, workspacePermissions } from '../../auth/permissions.ts'
import { type Page, type Paged, pageOffset } from '../../http/pagination.ts'
import { requireOrganization } from '../organizations/service.ts'
import { findGrants } from './grants.ts'
import type { Grants } from './list-store.ts'
import * as store from './list-store.ts'
import type { Workspace } from './service.ts'

export { SORTS, type Sort, type TagPair, type WorkspaceFilter } from './list-store.ts'

/**
 * One page of the organization's workspaces that the actor may see. The number of queries is the same for a page of one
 * and of a hundred, and their cost does not grow with the organization, unless a filter must look at every name.
 */
export async function listWorkspaces(
  ctx: Ctx,
  organizationName: string,
  { page, sort, filter }: { page: Page; sort: store.Sort; filter: store.WorkspaceFilter },
): Promise<Paged<Workspace>> {
  const { actor } = ctx
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const window = { sort, limit: page.size, offset: pageOffset(page) }

  const query = { organizationId: organization.id, filter, reach: undefined }
  const { rows, total } =
    actor.kind === 'user' && !seesEveryWorkspace(organization.facts)
      ? await listGranted(ctx, { ...query, reach: await findGrants(ctx, actor, organization) }, window)
      : await listEvery(ctx, query, window)
  return { rows: rows.map(({ grants, ...row }) => present(row, organization.facts, grants)), total }
}

type Query = { organizationId: string; filter: store.WorkspaceFilter }
type Window = { sort: store.Sort; limit: number; offset: number }

async function listEvery({ db, actor }: Ctx, query: Query & { reach: undefined }, window: Window) {
  const counted = async () => {
    if (isFiltered(query.filter) || actor.kind === 'run') return store.countMatches(db, actor, query)
    return (await store.countByProjects(db, query.organizationId, [])).all
  }
  const [rows, total] = await Promise.all([store.listPage(db, actor, query, window), counted()])
  return { rows, total }
}

async function listGranted({ db, actor }: Ctx, { reach: grants, ...query }: Query & { reach: Grants }, window: Window) {
  const counts = await store.countByProjects(db, query.organizationId, grants.projectIds)
  const visible = counts.granted + grants.direct
  // Walking the list until the page is full looks at many rows when few are visible; collecting looks at all that are.
  const walked = ((window.offset + window.limit) * counts.all) / Math.max(1, visible)
  const reach: store.Reach = { ...grants, strategy: walked < visible ? 'scan' : 'collect' }
  const [rows, total] = await Promise.all([
    store.listPage(db, actor, { ...query, reach }, window),
    isFiltered(query.filter) ? store.countMatches(db, actor, { ...query, reach }) : visible,
  ])
  return { rows, total }
}

function isFiltered(filter: store.WorkspaceFilter) {
  return Object.values(filter).some((value) => value !== undefined)
}

/** The facts of a row are those of the organization, and what is granted on the row itself. */
function present(row: Omit<Workspace, 'can' | 'facts'>, organization: Facts, grants: GrantsColumn): Workspace {
  const facts: Facts = {
    ...organization,
    // A run lists no workspace but its own.
    standing: organization.standing === 'foreign-run' ? 'own-run' : organization.standing,
    projectGrants: grants?.projects ?? [],
    workspaceGrants: grants?.workspaces ?? [],
  }
  return { ...row, facts, can: workspacePermissions(facts) }
}
