import type { AnswerTaskRequest, TaskRequest } from '@groundstate/contract/agent'
import { LRUCache } from 'lru-cache'
import type { Ctx } from '../../../app.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { createClaims } from '../../../claims/claims.ts'
import { throttledTouch } from '../../../db/throttled-touch.ts'
import { unauthorized } from '../../../errors.ts'
import { reaction } from '../../../handlers.ts'
import { agentRemoved } from '../../agents/agents/announce.ts'
import { type ClaimingAgent, findTakenRequest, noteClaims, poolsWithRequests, requeueRequest } from './store.ts'
import * as store from './store.ts'
import { REPORT_MARGIN_MS, queueTopic, responseTopic, sealResponse, taskRequestDocument } from './task-request.ts'

/** Leases the oldest request of its pool to the agent; undefined for none, `exited` for an agent that has exited. */
async function claimTaskRequest(ctx: Ctx, agent: ClaimingAgent): Promise<TaskRequest | 'exited' | undefined> {
  const token = newTokenText()
  const row = await store.leaseNextRequest(ctx.db, {
    agent,
    tokenHash: tokenHash(token),
    now: ctx.now(),
    marginMs: REPORT_MARGIN_MS,
  })
  return row === undefined || row === 'exited' ? row : taskRequestDocument(ctx, row, token)
}

const claims = createClaims<{ agent: ClaimingAgent }, TaskRequest>({
  name: 'request',
  topic: queueTopic,
  poolsWithItems: ({ now }, poolIds) => poolsWithRequests(poolIds, now()),
  claim: async (ctx, { agent }) => claimTaskRequest(ctx, agent),
  requeue: async (ctx, { id }, { agent }) => releaseTaskRequest(ctx, agent, id),
  // Any agent of the pool can send any of its requests.
  kindOf: () => '',
  listPreferredAgents: async () => [],
})

/** Waits for the next request for an agent (`createClaims`). */
export const waitForTaskRequest = claims.wait

/** Ends the waiting claims of an agent that accepts no more requests. */
const endTaskClaims = claims.end

/** Agents whose claims this process has recorded before. */
const known = new LRUCache<string, true>({ max: 10_000 })

const noteRepeated = throttledTouch(
  async (ctx: Ctx, ids) => noteClaims(ctx.db, ids, ctx.now()),
  'run task claims of agents',
)

/** Records that an agent claims run task requests. The first claim is stored at once, since tasks of its pool may be waiting for an agent. */
export async function noteTaskClaim(ctx: Ctx, agentId: string) {
  if (known.has(agentId)) return noteRepeated(ctx, agentId)
  await noteClaims(ctx.db, [agentId], ctx.now())
  known.set(agentId, true)
}

/** The request leased to an agent. Throws `unauthorized` if the token is not that of the request, or its response is no longer expected. */
async function requireTaskRequest(ctx: Ctx, id: string, token: string | undefined) {
  const hash = token === undefined ? undefined : tokenHash(token).toString('hex')
  const request = hash === undefined ? undefined : await findTakenRequest(ctx.db, { id, hash })
  if (!request) throw unauthorized('the token is not that of this request, or its response is no longer expected')
  return request
}

/** Stores a response for the process that waits for it. A repeated report changes nothing. */
export async function recordResponse(
  ctx: Ctx,
  id: string,
  { token, response }: { token: string | undefined; response: AnswerTaskRequest },
) {
  const request = await requireTaskRequest(ctx, id, token)
  if (request.status !== 'leased') return
  await store.recordResponse(ctx.db, request.id, sealResponse(ctx, request.id, response))
  ctx.signals.publish(ctx.db, responseTopic(request.id))
}

/** Requeues a request that its agent did not receive. */
async function releaseTaskRequest(ctx: Ctx, agent: ClaimingAgent, id: string) {
  await requeueRequest(ctx.db, id)
  ctx.signals.publish(ctx.db, queueTopic(agent.agent_pool_id))
}

export const taskRequestReactions = [reaction(agentRemoved, async (ctx, { agentId }) => endTaskClaims(ctx, agentId))]
