import type { Ctx } from '../../../app.ts'
import { announce, announceFound } from '../../../changes/announce.ts'
import type { Notice } from '../../../changes/feed.ts'
import { readWithNext } from '../../../db/pipeline.ts'
import { throttledTouch } from '../../../db/throttled-touch.ts'
import { domainEvent } from '../../../events.ts'
import { onlineSince } from '../agent-pools/store.ts'
import { type AgentOwner, selectOwners, touchAgents } from './store.ts'

type AnnounceCtx = Pick<Ctx, 'db' | 'signals'>

/** Announces changed agents. Built-in agents belong to no organization and are not announced. */
export async function announceAgents(ctx: AnnounceCtx, ids: readonly string[]) {
  if (ids.length === 0) return
  const read = await readWithNext(ctx.db, [selectOwners(ctx.db, ids)])
  announceFound(ctx, async () => (await read())[0].flatMap(agentNotices))
}

/** As `announceAgents`, for deleted agents. */
export function announceDeletedAgents(ctx: AnnounceCtx, owners: readonly AgentOwner[]) {
  announce(ctx, ...owners.flatMap(agentNotices))
}

function agentNotices({ id, agent_pool_id: pool, organization_id: organization }: AgentOwner): Notice[] {
  return organization === null ? [] : [{ organization, type: 'agents', id, pool }]
}

/** An agent was deregistered or deleted and gets no more jobs. Raised after the commit. */
export const agentRemoved = domainEvent<{ agentId: string }>('agent.gone')

/** Stores an agent's heartbeat, and announces an agent that was offline before. */
export const recordHeartbeat = throttledTouch(async (ctx: Pick<Ctx, 'db' | 'log' | 'now' | 'signals'>, ids) => {
  const now = ctx.now()
  await announceAgents(ctx, await touchAgents(ctx.db, ids, { now, offlineBefore: onlineSince(now) }))
}, 'agent heartbeats')
