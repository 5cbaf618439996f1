import type { RequestKind } from '@groundstate/contract/agent-requests'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import type { Exchange } from '../../../outbound/outbound.ts'
import { onlineSince } from '../../agents/agent-pools/store.ts'
import * as store from './store.ts'
import {
  ACCEPTED,
  type PoolRequest,
  REPORT_MARGIN_MS,
  type TaskPool,
  openResponse,
  queueTopic,
  responseTopic,
  sealRequest,
} from './task-request.ts'

/** Poll interval in case a signal is lost, in ms. */
export const POLL_MS = 2000
/** Retention of requests whose process died, in ms: far longer than any request lives. */
export const ABANDONED_AFTER_MS = 24 * 3_600_000

/** The exchange, and the agent that sent the request. `fate` is `left` if another process waits for the response. */
export type PoolExchange = Exchange & { agentName?: string | undefined; fate: 'taken' | 'untaken' | 'left' }

type PoolRoute = {
  pool: TaskPool
  kind: RequestKind
  /** The result that the request belongs to. It has one request at a time, across all processes. */
  resultId: string | null
  /** Time within which an agent must claim the request, in ms. */
  claimMs: number
}

/** Whether an agent that accepts the kind is online in the pool. */
export async function hasAgent(ctx: Ctx, { pool, kind }: Pick<PoolRoute, 'pool' | 'kind'>) {
  const now = ctx.now()
  const since = { claimedAfter: store.claimedSince(now), pingedAfter: onlineSince(now) }
  return store.hasAgent(ctx.db, { poolId: pool.id, kind }, since)
}

/** Has an agent send the request, and waits without a database connection. After a crash the next attempt continues with the same request. */
export async function sendThroughPool(ctx: Ctx, route: PoolRoute, request: PoolRequest): Promise<PoolExchange> {
  const since = { at: Date.now(), started: performance.now() }
  const id = await openRequest(ctx, route, request)
  using topic = ctx.signals.subscribe(responseTopic(id))
  for (;;) {
    const progress = await store.findProgress(ctx.db, { id })
    const sent = await outcome(ctx, { id, route, progress, since, timeoutMs: request.timeoutMs })
    if (sent) {
      // A result's request is deleted when its delivery is recorded: until then, another process may take over.
      if (route.resultId === null) await store.deleteTaskRequest(ctx.db, id)
      return sent
    }
    if (request.signal?.aborted) {
      if (route.resultId === null) await store.deleteTaskRequest(ctx.db, id)
      return { ...failure(since, 'the server was stopped before it received a response'), fate: 'left' }
    }
    const end = progress?.lease_expires_at ?? progress?.claim_until ?? ctx.now()
    const left = end.getTime() - ctx.now().getTime()
    await topic.next({ timeoutMs: Math.max(1, Math.min(POLL_MS, left)), signal: request.signal })
  }
}

/** Returns the id of this attempt's request: a new one, or the one that an earlier process opened for the same result. */
async function openRequest(ctx: Ctx, { pool, kind, resultId, claimMs }: PoolRoute, request: PoolRequest) {
  const now = ctx.now()
  const id = ctx.newId('taskreq')
  const row = {
    id,
    agent_pool_id: pool.id,
    kind,
    task_result_id: resultId,
    request: sealRequest(ctx, id, request),
    timeout_ms: request.timeoutMs,
    claim_until: new Date(now.getTime() + claimMs),
    created_at: now,
  }
  const topic = ctx.signals.toOne(queueTopic(pool.id))
  const abandonedBefore = new Date(now.getTime() - ABANDONED_AFTER_MS)
  if (await store.insertTaskRequest(ctx.db, row, abandonedBefore)) {
    ctx.signals.publish(ctx.db, topic)
    return id
  }
  return transact(ctx, async (ctx) => {
    const known = resultId === null ? undefined : await store.lockRequestOf(ctx.db, resultId)
    if (known && known.agent_pool_id === pool.id) return known.id
    if (known) await store.deleteTaskRequest(ctx.db, known.id)
    await store.insertTaskRequest(ctx.db, row, abandonedBefore)
    ctx.signals.publish(ctx.db, topic)
    return id
  })
}

type RequestState = {
  id: string
  route: PoolRoute
  progress: store.Progress | undefined
  since: { at: number; started: number }
  timeoutMs: number
}

/** The outcome of the request; undefined while it is pending. */
async function outcome(
  ctx: Ctx,
  { id, route, progress, since, timeoutMs }: RequestState,
): Promise<PoolExchange | undefined> {
  const pool = `the pool ${route.pool.name}`
  // Another process has taken over the request.
  if (!progress)
    return { ...failure(since, `the request to an agent of ${pool} was taken over or withdrawn`), fate: 'left' }
  const now = ctx.now()
  const { status, response, agent_name: agentName, leased_at: leasedAt } = progress
  if (status === 'answered' && response) {
    const startedAt = Date.now() - (now.getTime() - (leasedAt ?? now).getTime())
    const content = route.kind === 'task' ? null : await store.findContent(ctx.db, id)
    const exchange = openResponse(ctx, { id, response, content }, startedAt)
    // The error names the agent, since other networks may reach the receiver.
    const reported = exchange.response
      ? exchange
      : { ...exchange, error: `the agent ${agentName} of ${pool}: ${exchange.error}` }
    return { ...reported, fate: 'taken', agentName: agentName ?? undefined }
  }
  const isExpired = status !== 'answered' && (progress.lease_expires_at ?? progress.claim_until) <= now
  const isOver = isExpired || (status === 'queued' && !progress.is_wanted)
  if (!isOver || !(await store.withdrawTaskRequest(ctx.db, id, progress))) return undefined
  if (status === 'leased') {
    const error = `the agent ${agentName} of ${pool} claimed the request and reported no response within ${seconds(timeoutMs + REPORT_MARGIN_MS)}`
    return { ...failure(since, error), fate: 'taken', agentName: agentName ?? undefined }
  }
  if (!progress.is_wanted) {
    const error = `the task result ended before an agent of ${pool} claimed the request`
    return { ...failure(since, error), fate: 'untaken' }
  }
  const isOnline = await hasAgent(ctx, route)
  const reason = isOnline ? 'its agents are busy' : `none that accepts ${ACCEPTED[route.kind]} is online`
  const error = `no agent of ${pool} claimed the request within ${seconds(route.claimMs)}: ${reason}`
  return { ...failure(since, error), fate: 'untaken' }
}

function failure(since: RequestState['since'], error: string) {
  return { startedAt: since.at, durationMs: Math.round(performance.now() - since.started), isPrivate: false, error }
}

function seconds(ms: number) {
  return `${Math.ceil(ms / 1000)} s`
}
