import type { TRIGGER_TYPES } from '@groundstate/contract/run-triggers'
import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { requireTriggerWorkspace } from './access.ts'
import * as store from './store.ts'

type ListInput = { page: Page; type: (typeof TRIGGER_TYPES)[number] }

/** The triggers that start runs in a workspace (`inbound`), or those that its applies fire (`outbound`). */
export async function listRunTriggers(
  ctx: Ctx,
  workspaceId: string,
  { page, type }: ListInput,
): Promise<Paged<store.RunTriggerRow>> {
  const workspace = await requireTriggerWorkspace(ctx, workspaceId, 'runs:read')
  return store.listRunTriggers(ctx.db, { workspaceId: workspace.id, type, page })
}
