import type { Ctx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { type IssuedToken, issueToken } from '../../identity/tokens/issue.ts'
import type { AgentPool } from './access.ts'
import { BUILT_IN_POOL_ID } from './built-in-pool.ts'
import * as store from './token-store.ts'

/** A token of a built-in agent is deleted after this long without use, in ms. */
const IDLE_MS = 7 * 24 * 3_600_000

export async function createAgentToken(ctx: Ctx, pool: AgentPool, description: string): Promise<IssuedToken> {
  // An organization's token has no user of its own, and acts as its owners do.
  const createdBy = actorUserId(ctx.actor) ?? (await store.findOwnersAccount(ctx.db, pool.organization_key)) ?? null
  return issueToken(
    ctx,
    {
      kind: 'agent',
      agent_pool_id: pool.id,
      organization_id: pool.organization_key,
      created_by_user_id: createdBy,
    },
    { description },
  )
}

/** A token for the agent inside this process, new at each start. Deletes those that earlier processes left. */
export async function createBuiltInAgentToken(ctx: Ctx): Promise<string> {
  const before = new Date(ctx.now().getTime() - IDLE_MS)
  await store.deleteIdleBuiltInTokens(ctx.db, { poolId: BUILT_IN_POOL_ID, before })
  const subject = { kind: 'agent', agent_pool_id: BUILT_IN_POOL_ID } as const
  const { text } = await issueToken(ctx, subject, { description: 'the agent inside the server' })
  return text
}
