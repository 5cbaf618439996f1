import type { Ctx } from '../../../app.ts'
import { type Page, type Paged, pageOffset } from '../../../db/page.ts'
import { readableWorkspace, requireWorkspace } from './access.ts'
import * as store from './consumer-store.ts'
import type { Workspace } from './workspace.ts'

/** The workspaces that the actor sees among those whose runs may read this workspace's state. */
export async function listRemoteStateConsumers(ctx: Ctx, id: string, page: Page): Promise<Paged<Workspace>> {
  await requireWorkspace(ctx, id, 'workspace:read')
  const window = { limit: page.size, offset: pageOffset(page) }
  const { rows, total } = await store.listConsumers(ctx.db, ctx.actor, id, window)
  return { rows: rows.flatMap((row) => readableWorkspace(ctx, row) ?? []), total }
}
