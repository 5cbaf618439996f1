import type { Ctx } from '../../../app.ts'
import * as store from './store.ts'

/** Used codes are kept this long, so that a second use is recognised and revokes the token of the first. */
const CODE_MEMORY_MS = 24 * 60 * 60_000

export async function sweepCodes(ctx: Ctx) {
  await store.deleteExpiredCodes(ctx.db, new Date(ctx.now().getTime() - CODE_MEMORY_MS))
}
