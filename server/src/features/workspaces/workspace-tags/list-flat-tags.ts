import type { Ctx } from '../../../app.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import * as store from './store.ts'

/** Flat tags of a workspace: those of its bindings that have no value. */
export async function listWorkspaceTags(
  ctx: Ctx,
  workspaceId: string,
  { page, name }: { page: Page; name: string | undefined },
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  const window = { limit: page.size, offset: pageOffset(page), name }
  return {
    ...(await store.listWorkspaceTags(ctx.db, ctx.actor, workspaceId, window)),
    organization: workspace.organization_name,
  }
}

/** The organization's flat tags, as far as they are on workspaces that the actor may see. */
export async function listTags(
  ctx: Ctx,
  organizationName: string,
  { page, q, exclude }: { page: Page; q: string | undefined; exclude: string | undefined },
) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const filter = { organizationId: organization.id, q, exclude }
  const window = { limit: page.size, offset: pageOffset(page) }
  return { ...(await store.listTags(ctx.db, ctx.actor, filter, window)), organization: organization.name }
}
