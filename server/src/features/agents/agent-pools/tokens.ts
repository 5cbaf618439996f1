import type { Ctx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { AppError, notFound } from '../../../errors.ts'
import { type IssuedToken, issueToken } from '../../identity/tokens/issue.ts'
import { BUILT_IN_POOL_ID, requireAgentPool } from './service.ts'
import * as store from './store.ts'
import type { Page } from '../../../db/page.ts'

/**
 * A pool whose tokens the actor may manage. To lack that permission is not to find the pool (INTERFACE §5.2.1); `noun` is what the
 * caller asked for.
 */
export async function requireTokenPool(ctx: Ctx, poolId: string, noun = 'agent pool') {
  return requireAgentPool(ctx, poolId, 'agent-pools:manage', noun).catch((error: unknown) => {
    if (error instanceof AppError && error.kind === 'forbidden') throw notFound(noun)
    throw error
  })
}

export async function listAgentTokens(ctx: Ctx, poolId: string, page: Page) {
  const pool = await requireTokenPool(ctx, poolId)
  return store.listTokens(ctx.db, pool.id, page)
}

/** The text of the token is in this answer, and nowhere else ever again. */
export async function createAgentToken(ctx: Ctx, poolId: string, description: string): Promise<IssuedToken> {
  const pool = await requireTokenPool(ctx, poolId)
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

const IDLE_MS = 7 * 24 * 3_600_000

/** A token for the agent inside this process, made anew at each start; those that earlier processes left are deleted. */
export async function createBuiltInAgentToken(ctx: Ctx): Promise<string> {
  const before = new Date(ctx.now().getTime() - IDLE_MS)
  await store.deleteIdleBuiltInTokens(ctx.db, { poolId: BUILT_IN_POOL_ID, before })
  const subject = { kind: 'agent', agent_pool_id: BUILT_IN_POOL_ID } as const
  const { text } = await issueToken(ctx, subject, { description: 'the agent inside the server' })
  return text
}
