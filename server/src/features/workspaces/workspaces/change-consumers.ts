import type { Identifier } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { requireWorkspace, requireVisibleWorkspaces } from './access.ts'
import { workspaceAudit } from './audit.ts'
import * as store from './consumer-store.ts'
import type { Workspace } from './workspace.ts'

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
  return workspaceAudit(workspace, `${verb}_remote_state_consumers`, { name: workspace.name, consumers })
}
