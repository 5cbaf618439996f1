import type { Ctx } from '../../../app.ts'
import type { Page } from '../../../db/page.ts'
import { requireTokenOwner } from './access.ts'
import * as store from './store.ts'

export async function listUserTokens(ctx: Ctx, userId: string, page: Page) {
  const user = await requireTokenOwner(ctx, userId)
  return store.listUserTokens(ctx.db, user.id, page)
}
