import type { Ctx } from '../../../app.ts'
import { announce, announceFound, runNotice } from '../../../changes/announce.ts'
import { readWithNext } from '../../../db/later.ts'
import { BUILT_IN_POOL_ID } from '../../agents/agent-pools/built-in-pool.ts'
import type { RunRow } from './locked-run.ts'
import { selectPlaces } from './transition-store.ts'

/** Notifies open pages of runs of which the caller knows the ids only. */
export async function announceRuns(ctx: Ctx, ids: readonly string[]) {
  const read = await readWithNext(ctx.db, [selectPlaces(ctx.db, ids)])
  announceFound(ctx, async () => (await read())[0].map(runNotice))
}

/** Notifies open pages that an agent has begun or ended a job of the run. The built-in agents are on no page. */
export function announceAgentOf(ctx: Ctx, run: Pick<RunRow, 'organization_id' | 'agent_pool_id'>, agentId: string) {
  const { organization_id: organization, agent_pool_id: pool } = run
  if (pool !== BUILT_IN_POOL_ID) announce(ctx, { organization, type: 'agents', id: agentId, pool })
}
