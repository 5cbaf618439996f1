import { LRUCache } from 'lru-cache'
import type { Ctx } from '../../../app.ts'
import { storeInWindows } from '../../../db/window.ts'
import { noteClaims } from './store.ts'

/** Agents that this process has noted before. */
const known = new LRUCache<string, true>({ max: 10_000 })

const noteAgain = storeInWindows(
  async (ctx: Ctx, ids) => noteClaims(ctx.db, ids, ctx.now()),
  'which agents take run tasks',
)

/** Stores that an agent asks for requests of run tasks: the first time at once, since tasks of its pool may wait for one. */
export async function noteTaskClaim(ctx: Ctx, agentId: string) {
  if (known.has(agentId)) return noteAgain(ctx, agentId)
  await noteClaims(ctx.db, [agentId], ctx.now())
  known.set(agentId, true)
}
