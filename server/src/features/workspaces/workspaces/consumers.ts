import type { Identifier } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import * as store from './consumers-store.ts'
import { readableWorkspace, requireWorkspace } from './access.ts'
import { audited } from '../../../audit/record.ts'
import { type Page, type Paged, pageOffset } from '../../../db/page.ts'
import type { Workspace } from './workspace.ts'

/** The workspaces whose runs may read this one's state because they are listed, as far as the actor sees them. */
export async function listRemoteStateConsumers(ctx: Ctx, id: string, page: Page): Promise<Paged<Workspace>> {
  await requireWorkspace(ctx, id, 'workspace:read')
  const window = { limit: page.size, offset: pageOffset(page) }
  const { rows, total } = await store.listConsumers(ctx.db, ctx.actor, id, window)
  return { rows: rows.flatMap((row) => readableWorkspace(ctx, row) ?? []), total }
}

export async function addRemoteStateConsumers(ctx: Ctx, id: string, consumers: readonly Identifier[]) {
  const workspace = await requireWorkspace(ctx, id, 'workspace:update')
  const ids = await requireVisibleWorkspaces(ctx, workspace.organization_id, consumers)
  await audited(ctx, consumersAudit(workspace, 'add', ids), (ctx) => store.insertConsumers(ctx.db, id, ids))
}

export async function replaceRemoteStateConsumers(ctx: Ctx, id: string, consumers: readonly Identifier[]) {
  const workspace = await requireWorkspace(ctx, id, 'workspace:update')
  const ids = await requireVisibleWorkspaces(ctx, workspace.organization_id, consumers)
  await audited(ctx, consumersAudit(workspace, 'replace', ids), async (ctx) => {
    await store.deleteVisibleConsumers(ctx.db, ctx.actor, id)
    await store.insertConsumers(ctx.db, id, ids)
  })
}

export async function removeRemoteStateConsumers(ctx: Ctx, id: string, consumers: readonly Identifier[]) {
  const workspace = await requireWorkspace(ctx, id, 'workspace:update')
  const ids = await requireVisibleWorkspaces(ctx, workspace.organization_id, consumers)
  await audited(ctx, consumersAudit(workspace, 'remove', ids), (ctx) => store.deleteConsumers(ctx.db, id, ids))
}

function consumersAudit(workspace: Workspace, verb: string, consumers: readonly string[]) {
  return {
    organizationId: workspace.organization_id,
    action: `${verb}_remote_state_consumers`,
    resource: { type: 'workspace', id: workspace.id },
    meta: { name: workspace.name, consumers },
  }
}

/**
 * The ids of workspaces that a body names. One that the actor may not see, or that belongs to another organization, is
 * refused in the words for one that does not exist.
 */
export async function requireVisibleWorkspaces(
  ctx: Ctx,
  organizationId: string,
  identifiers: readonly Identifier[],
  pointer = '/data',
) {
  const ids = identifiers.map(({ id }) => id)
  const visible = await store.findVisibleIds(ctx.db, ctx.actor, organizationId, ids)
  const missing = ids.findIndex((id) => !visible.has(id))
  if (missing >= 0)
    throw invalid(`there is no workspace ${ids[missing]} in the organization`, `${pointer}/${missing}/id`)
  return ids
}
