import type { ReportTaskResponse, TaskRequest } from '@groundstate/contract/agent'
import { LRUCache } from 'lru-cache'
import type { Ctx } from '../../../app.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { createClaims } from '../../../claims/claims.ts'
import { throttledTouch } from '../../../db/throttled-touch.ts'
import { unauthorized } from '../../../errors.ts'
import { reaction } from '../../../handlers.ts'
import { agentRemoved } from '../../agents/agents/announce.ts'
import * as store from './store.ts'
import { REPORT_MARGIN_MS, queueTopic, responseTopic, sealResponse, taskRequestDocument } from './task-request.ts'

/** Leases the oldest request of its pool to the agent; undefined for none, `exited` for an agent that has exited. */
async function claimTaskRequest(ctx: Ctx, agent: store.ClaimingAgent): Promise<TaskRequest | 'exited' | undefined> {
  const token = newTokenText()
  const lease = { agent, tokenHash: tokenHash(token), now: ctx.now(), marginMs: REPORT_MARGIN_MS }
  const row = await store.leaseNextRequest(ctx.db, lease)
  return row === undefined || row === 'exited' ? row : taskRequestDocument(ctx, row, token)
}

const claims = createClaims<{ agent: store.ClaimingAgent }, TaskRequest>({
  name: 'request',
  topic: queueTopic,
  poolsWithItems: ({ now }, poolIds) => store.poolsWithRequests(poolIds, now()),
  claim: async (ctx, { agent }) => claimTaskRequest(ctx, agent),
  requeue: async (ctx, { id }, { agent }) => {
    await store.requeueRequest(ctx.db, id)
    ctx.signals.publish(ctx.db, queueTopic(agent.agent_pool_id))
  },
  // Any agent of the pool can send any of its requests.
  kindOf: () => '',
  listPreferredAgents: async () => [],
})

export const waitForTaskRequest = claims.wait

/** Agents whose claims this process has recorded before. */
const known = new LRUCache<string, true>({ max: 10_000 })

const noteRepeated = throttledTouch(
  async (ctx: Ctx, ids) => store.recordTaskClaims(ctx.db, ids, ctx.now()),
  'run task claims of agents',
)

/** Records that an agent claims run task requests. The first claim is stored at once, since tasks of its pool may be waiting for an agent. */
export async function recordTaskClaim(ctx: Ctx, agentId: string) {
  if (known.has(agentId)) return noteRepeated(ctx, agentId)
  await store.recordTaskClaims(ctx.db, [agentId], ctx.now())
  known.set(agentId, true)
}

type Report = { token: string | undefined; response: ReportTaskResponse }

/** Stores a response for the waiting process; idempotent. Throws `unauthorized` for another token, or if the response is no longer expected. */
export async function recordResponse(ctx: Ctx, id: string, { token, response }: Report) {
  const hash = token && tokenHash(token).toString('hex')
  const request = hash && (await store.findTakenRequest(ctx.db, { id, hash }))
  if (!request) throw unauthorized('the token is not that of this request, or its response is no longer expected')
  if (request.status !== 'leased') return
  await store.recordResponse(ctx.db, request.id, sealResponse(ctx, request.id, response))
  ctx.signals.publish(ctx.db, responseTopic(request.id))
}

export const taskRequestReactions = [reaction(agentRemoved, async (ctx, { agentId }) => claims.end(ctx, agentId))]
