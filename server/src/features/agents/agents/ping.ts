import type { Ctx } from '../../../app.ts'
import { storeInWindows } from '../../../db/window.ts'
import { announceAgents } from './announce.ts'
import { onlineSince } from './status.ts'
import { touchAgents } from './store.ts'

/** Stores a heartbeat of an agent. Pages show again one that was silent for so long that it counted as offline. */
export const noteAgentPing = storeInWindows(async (ctx: Pick<Ctx, 'db' | 'log' | 'now' | 'signals'>, ids) => {
  const now = ctx.now()
  await announceAgents(ctx, await touchAgents(ctx.db, ids, { now, offlineBefore: onlineSince(now) }))
}, 'the signs of life of agents')
