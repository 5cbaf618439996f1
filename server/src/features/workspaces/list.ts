import type { Ctx } from '../../app.ts'
import { type GrantsColumn, seesEveryWorkspace } from '../../auth/facts.ts'
import { type Facts, workspacePermissions } from '../../auth/permissions.ts'
import { type Page, type Paged, pageOffset } from '../../http/pagination.ts'
import { requireOrganization } from '../organizations/service.ts'
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
  const { db, actor } = ctx
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const window = { sort, limit: page.size, offset: pageOffset(page) }
  const filters = Object.values(filter).some((value) => value !== undefined)

  let reach: store.Reach | undefined
  let visible: number | undefined
  if (actor.kind === 'user' && !seesEveryWorkspace(organization.facts)) {
    const found = await store.findReach(db, actor, organization.id)
    visible = found.visible
    // Walking the list until the page is full looks at this many rows; collecting looks at all that are visible.
    const walked = ((window.offset + window.limit) * found.total) / Math.max(1, visible)
    reach = { ...found, strategy: walked < visible ? 'scan' : 'collect' }
  }
  const query = { organizationId: organization.id, reach, filter }
  const counted = () => {
    if (filters || actor.kind === 'run') return store.countMatches(db, actor, query)
    return visible ?? store.countAll(db, organization.id)
  }
  const [rows, total] = await Promise.all([store.listPage(db, actor, query, window), counted()])
  return { rows: rows.map(({ grants, ...row }) => present(row, organization.facts, grants)), total }
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
