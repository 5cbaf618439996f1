import type { Ctx } from '../../../app.ts'
import { dependsOnGrants, listedAccess, seesEveryWorkspace } from '../../../auth/access-context.ts'
import type { Page } from '../../../db/page.ts'
import { notFound } from '../../../errors.ts'
import type { Organization } from '../../organizations/organizations/organization.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import type { Workspace } from '../../workspaces/workspaces/workspace.ts'
import { type RunQuery, runFilter } from './filter.ts'
import * as store from './list-store.ts'
import { runWithAccess } from './run.ts'

type ListInput = { page: Page; query: RunQuery }

/** A page of the runs of a workspace, the newest first. */
export async function listWorkspaceRuns(ctx: Ctx, workspace: Workspace, { page, query }: ListInput) {
  const now = ctx.now()
  const filter = runFilter(query, now)
  const { id: workspaceId, organization_id: organizationId } = workspace
  const list = await store.listWorkspaceRuns(ctx.db, { organizationId, workspaceId, page, filter, now })
  return { rows: list.rows.map((row) => runWithAccess(row, workspace.access)), total: list.total }
}

/** As `listWorkspaceRuns`, for a workspace whose organization has this name. */
export async function listNamedWorkspaceRuns(
  ctx: Ctx,
  { workspaceId, organization }: { workspaceId: string; organization: string },
  input: ListInput,
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:read')
  if (workspace.organization_name.toLowerCase() !== organization.toLowerCase()) throw notFound('workspace')
  return listWorkspaceRuns(ctx, workspace, input)
}

/** Runs of the workspaces that the actor may see; `isLast` when there is no further page. */
export async function listOrganizationRuns(ctx: Ctx, organization: Organization, { page, query }: ListInput) {
  const now = ctx.now()
  const filter = runFilter(query, now)
  const rows = await store.listOrganizationRuns(ctx.db, ctx.actor, {
    organizationId: organization.id,
    seesAll: seesEveryWorkspace(organization.access),
    grants: dependsOnGrants(organization.access),
    page,
    filter,
    now,
  })
  return {
    rows: rows
      .slice(0, page.size)
      .map(({ grants, ...row }) => runWithAccess(row, listedAccess(organization.access, grants))),
    isLast: rows.length <= page.size,
  }
}
