import type { TaskRequest } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import type { ClaimingAgent } from './claiming-agent.ts'
import * as store from './store.ts'
import { SLACK_MS, taskRequestDocument } from './task-request.ts'

/** Leases the oldest request of the agent's pool to the agent; undefined when there is none. An agent that has exited gets none. */
export async function claimTaskRequest(ctx: Ctx, agent: ClaimingAgent): Promise<TaskRequest | 'exited' | undefined> {
  const token = newTokenText()
  const row = await store.leaseNextRequest(ctx.db, {
    agent,
    tokenHash: tokenHash(token),
    now: ctx.now(),
    slackMs: SLACK_MS,
  })
  return row === undefined || row === 'exited' ? row : taskRequestDocument(ctx, row, token)
}
