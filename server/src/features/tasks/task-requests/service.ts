import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import {
  REQUEST_KINDS,
  type ReportTaskResponse,
  type RequestKind,
  type TaskRequest,
} from '@groundstate/contract/agent-requests'
import { LRUCache } from 'lru-cache'
import type { Ctx } from '../../../app.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { createClaims } from '../../../claims/claims.ts'
import { throttledTouch } from '../../../db/throttled-touch.ts'
import { unauthorized } from '../../../errors.ts'
import { reaction } from '../../../handlers.ts'
import { agentRemoved } from '../../agents/agents/announce.ts'
import * as store from './store.ts'
import {
  REPORT_MARGIN_MS,
  queueTopic,
  responseTopic,
  sealContent,
  sealResponse,
  taskRequestDocument,
} from './task-request.ts'

type Claim = { agent: store.ClaimingAgent; accepts: readonly RequestKind[] }

/** Leases the oldest request of its pool to the agent; undefined for none, `exited` for an agent that has exited. */
async function claimTaskRequest(ctx: Ctx, { agent, accepts }: Claim): Promise<TaskRequest | 'exited' | undefined> {
  const token = newTokenText()
  const lease = { agent, kinds: accepts, tokenHash: tokenHash(token), now: ctx.now(), marginMs: REPORT_MARGIN_MS }
  const row = await store.leaseNextRequest(ctx.db, lease)
  return row === undefined || row === 'exited' ? row : taskRequestDocument(ctx, row, token)
}

const claims = createClaims<Claim, TaskRequest>({
  name: 'request',
  topic: queueTopic,
  poolsWithItems: ({ now }, poolIds) => store.poolsWithRequests(poolIds, { kinds: REQUEST_KINDS, now: now() }),
  claim: claimTaskRequest,
  requeue: async (ctx, { id }, { agent }) => {
    await store.requeueRequest(ctx.db, id)
    ctx.signals.publish(ctx.db, queueTopic(agent.agent_pool_id))
  },
  // Any agent of the pool can send any request of a kind that it accepts.
  kindOf: ({ accepts }) => accepts.toSorted().join(),
  listPreferredAgents: async () => [],
})

/** Agents whose claims this process has recorded before. */
const known = new LRUCache<string, true>({ max: 10_000 })

const noteRepeated = throttledTouch(
  async (ctx: Ctx, ids) => store.recordTaskClaims(ctx.db, ids, ctx.now()),
  'run task claims of agents',
)

/** Records that an agent claims run task requests. The first claim is stored at once, since tasks of its pool may be waiting for an agent. */
async function recordTaskClaim(ctx: Ctx, agentId: string) {
  if (known.has(agentId)) return noteRepeated(ctx, agentId)
  await store.recordTaskClaims(ctx.db, [agentId], ctx.now())
  known.set(agentId, true)
}

/** The next request for the agent, as `createClaims` waits for it; records the claim. */
export async function waitForTaskRequest(
  ctx: Ctx,
  claim: Claim,
  { waitMs, signal }: Parameters<typeof claims.wait>[2],
) {
  const failed = new AbortController()
  const recorded = recordTaskClaim(ctx, claim.agent.id).catch((error: unknown) => {
    failed.abort()
    throw error
  })
  // Waits meanwhile: a revocation or deregistration before the wait would not end it.
  const wait = { waitMs, signal: AbortSignal.any([signal, failed.signal]) }
  const [request] = await Promise.all([claims.wait(ctx, claim, wait), recorded])
  return request
}

export type Credentials = { token: string | undefined }

/** A request of these kinds by its own token. Throws `unauthorized` for another token, or if the response is no longer expected. */
export async function requireTakenRequest(
  ctx: Ctx,
  id: string,
  { token, kinds }: Credentials & { kinds: readonly store.Kind[] },
) {
  const hash = token && tokenHash(token).toString('hex')
  const request = hash && (await store.findTakenRequest(ctx.db, { id, hash }))
  if (request && kinds.includes(request.kind)) return request
  throw unauthorized('the token is not that of this request, or its response is no longer expected')
}

/** Stores the body of a long response of a host; idempotent. Throws as `requireTakenRequest` does. */
export async function recordBody(ctx: Ctx, id: string, { token, body }: Credentials & { body: Readable }) {
  await requireTakenRequest(ctx, id, { token, kinds: ['repository'] })
  await store.recordContent(ctx.db, id, sealContent(ctx, id, await buffer(body)))
}

type Report = Credentials & { response: ReportTaskResponse }

/** Stores a response for the waiting process; idempotent. Throws `unauthorized` for another token, or if the response is no longer expected. */
export async function recordResponse(ctx: Ctx, id: string, { token, response }: Report) {
  const request = await requireTakenRequest(ctx, id, { token, kinds: REQUEST_KINDS })
  if (request.status !== 'leased') return
  await store.recordResponse(ctx.db, request.id, sealResponse(ctx, request.id, response))
  ctx.signals.publish(ctx.db, responseTopic(request.id))
}

export const taskRequestReactions = [reaction(agentRemoved, async (ctx, { agentId }) => claims.end(ctx, agentId))]
