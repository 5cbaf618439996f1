import type { TaskRequest } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import type { ClaimingAgent } from './claiming-agent.ts'
import * as store from './store.ts'
import { SLACK_MS, taskRequestDocument } from './task-request.ts'

/** Leases the oldest request of the agent's pool to the agent; undefined when there is none. */
export async function claimTaskRequest(ctx: Ctx, agent: ClaimingAgent): Promise<TaskRequest | undefined> {
  const token = newTokenText()
  const row = await store.leaseNextRequest(ctx.db, {
    agentName: agent.name,
    poolId: agent.agent_pool_id,
    tokenHash: tokenHash(token),
    now: ctx.now(),
    slackMs: SLACK_MS,
  })
  return row && taskRequestDocument(ctx, row, token)
}
