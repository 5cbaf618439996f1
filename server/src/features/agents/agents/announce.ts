import type { Ctx } from '../../../app.ts'
import { announce, announceFound } from '../../../changes/announce.ts'
import type { Notice } from '../../../changes/feed.ts'
import { readWithNext } from '../../../db/later.ts'
import { type AgentPlace, selectPlaces } from './store.ts'

type AnnounceCtx = Pick<Ctx, 'db' | 'signals'>

/** Notifies open pages of agents that have changed. The built-in ones belong to no organization, and are on no page. */
export async function announceAgents(ctx: AnnounceCtx, ids: readonly string[]) {
  if (ids.length === 0) return
  const read = await readWithNext(ctx.db, [selectPlaces(ctx.db, ids)])
  announceFound(ctx, async () => (await read())[0].flatMap(agentNotices))
}

/** As `announceAgents`, of agents that are deleted. */
export function announceDeletedAgents(ctx: AnnounceCtx, places: readonly AgentPlace[]) {
  announce(ctx, ...places.flatMap(agentNotices))
}

function agentNotices({ id, agent_pool_id: pool, organization_id: organization }: AgentPlace): Notice[] {
  return organization === null ? [] : [{ organization, type: 'agents', id, pool }]
}
