import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import type { Exchange, OutboundRequest } from '../../../outbound/outbound.ts'
import { onlineSince } from '../../agents/agents/status.ts'
import { claimedSince } from './online.ts'
import * as store from './store.ts'
import { openResponse, sealRequest, SLACK_MS, type TaskPool } from './task-request.ts'
import { responseTopic, queueTopic } from './topics.ts'

/** A lost signal delays a response by at most this time, in ms. */
const POLL_MS = 2000
/** Requests of processes that died are kept this long, in ms: far longer than any of them lives. */
const FORGOTTEN_MS = 24 * 3_600_000

/** What came of a request, and which agent sent it. A request is `left` when another process is to wait for it, or does. */
export type Sent = Exchange & { agentName?: string | undefined; fate: 'taken' | 'untaken' | 'left' }

type Way = {
  pool: TaskPool
  /** The result that the request belongs to. It has one request at a time, whichever process waits for its response. */
  resultId: string | null
  /** How long the request waits for an agent, in ms. */
  claimMs: number
}

/** Whether an agent is online that sends the requests of run tasks of the pool. */
export async function hasTaskAgent(ctx: Ctx, pool: TaskPool) {
  const now = ctx.now()
  return store.hasTaskAgent(ctx.db, pool.id, { claimedAfter: claimedSince(now), pingedAfter: onlineSince(now) })
}

/**
 * Lets an agent of the pool send the request, and waits for what comes back. No connection of the database is held
 * meanwhile. When the process dies, the next attempt finds the request where it is, with its response if there is one.
 */
export async function sendThroughPool(ctx: Ctx, way: Way, request: OutboundRequest): Promise<Sent> {
  const since = { at: Date.now(), started: performance.now() }
  const id = await openRequest(ctx, way, request)
  using topic = ctx.signals.subscribe(responseTopic(id))
  for (;;) {
    const progress = await store.findProgress(ctx.db, { id })
    const sent = await outcome(ctx, { id, way, progress, since, timeoutMs: request.timeoutMs })
    if (sent) {
      // That of a result goes when its delivery is recorded: until then, another process may have to do that.
      if (way.resultId === null) await store.deleteTaskRequest(ctx.db, id)
      return sent
    }
    if (request.signal?.aborted)
      return { ...failure(since, 'the server was stopped before a response came'), fate: 'left' }
    const end = progress?.lease_expires_at ?? progress?.claim_until ?? ctx.now()
    const left = end.getTime() - ctx.now().getTime()
    await topic.next({ timeoutMs: Math.max(1, Math.min(POLL_MS, left)), signal: request.signal })
  }
}

/** The id of the request for this attempt: a new one, or the one that an earlier process opened for the same result. */
async function openRequest(ctx: Ctx, { pool, resultId, claimMs }: Way, request: OutboundRequest): Promise<string> {
  const now = ctx.now()
  const id = ctx.newId('taskreq')
  const row = {
    id,
    agent_pool_id: pool.id,
    task_result_id: resultId,
    request: sealRequest(ctx, id, request),
    timeout_ms: request.timeoutMs,
    claim_until: new Date(now.getTime() + claimMs),
    created_at: now,
  }
  const topic = ctx.signals.toOne(queueTopic(pool.id))
  const forgotten = new Date(now.getTime() - FORGOTTEN_MS)
  if (await store.insertTaskRequest(ctx.db, row, forgotten)) {
    ctx.signals.publish(ctx.db, topic)
    return id
  }
  return transact(ctx, async (ctx) => {
    const known = resultId === null ? undefined : await store.lockRequestOf(ctx.db, resultId)
    if (known && known.agent_pool_id === pool.id) return known.id
    if (known) await store.deleteTaskRequest(ctx.db, known.id)
    await store.insertTaskRequest(ctx.db, row, forgotten)
    ctx.signals.publish(ctx.db, topic)
    return id
  })
}

function isAlive(
  { status, claim_until, lease_expires_at }: Pick<store.Progress, 'status' | 'claim_until' | 'lease_expires_at'>,
  now: Date,
) {
  return status === 'answered' || (lease_expires_at ?? claim_until) > now
}

type Look = {
  id: string
  way: Way
  progress: store.Progress | undefined
  since: { at: number; started: number }
  timeoutMs: number
}

/** What has come of the request so far; undefined while it is to be waited for. */
async function outcome(ctx: Ctx, { id, way, progress, since, timeoutMs }: Look): Promise<Sent | undefined> {
  const pool = `the pool ${way.pool.name}`
  // Another process has found the request, and what came of it.
  if (!progress)
    return { ...failure(since, `the request to an agent of ${pool} was taken over or withdrawn`), fate: 'left' }
  const now = ctx.now()
  const { status, response, agent_name: agentName, leased_at: leasedAt } = progress
  if (status === 'answered' && response) {
    const startedAt = Date.now() - (now.getTime() - (leasedAt ?? now).getTime())
    const exchange = openResponse(ctx, { id, response }, startedAt)
    // What fails in the network of the agent may well work in that of the server.
    const seen = exchange.response
      ? exchange
      : { ...exchange, error: `the agent ${agentName} of ${pool}: ${exchange.error}` }
    return { ...seen, fate: 'taken', agentName: agentName ?? undefined }
  }
  const isOver = !isAlive(progress, now) || (status === 'queued' && !progress.is_wanted)
  if (!isOver || !(await store.withdrawTaskRequest(ctx.db, id, progress))) return undefined
  if (status === 'leased') {
    const error = `the agent ${agentName} of ${pool} took the request, and has not reported a response within ${seconds(timeoutMs + SLACK_MS)}`
    return { ...failure(since, error), fate: 'taken', agentName: agentName ?? undefined }
  }
  if (!progress.is_wanted) {
    return {
      ...failure(since, `the task result had ended before an agent of ${pool} took the request`),
      fate: 'untaken',
    }
  }
  const why = (await hasTaskAgent(ctx, way.pool)) ? 'its agents are busy' : 'none that takes run tasks is online'
  const error = `no agent of ${pool} took the request within ${seconds(way.claimMs)}: ${why}`
  return { ...failure(since, error), fate: 'untaken' }
}

function failure(since: Look['since'], error: string) {
  return { startedAt: since.at, durationMs: Math.round(performance.now() - since.started), isPrivate: false, error }
}

function seconds(ms: number) {
  return `${Math.ceil(ms / 1000)} s`
}
