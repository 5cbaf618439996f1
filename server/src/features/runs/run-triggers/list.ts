import type { TRIGGER_TYPES } from '@groundstate/contract/run-triggers'
import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import type { Workspace } from '../../workspaces/workspaces/workspace.ts'
import * as store from './store.ts'

type ListInput = { page: Page; type: (typeof TRIGGER_TYPES)[number] }

/** The triggers that start runs in a workspace (`inbound`), or those that its applies fire (`outbound`). */
export async function listRunTriggers(
  ctx: Ctx,
  workspace: Workspace,
  { page, type }: ListInput,
): Promise<Paged<store.RunTriggerRow>> {
  return store.listRunTriggers(ctx.db, { workspaceId: workspace.id, type, page })
}
