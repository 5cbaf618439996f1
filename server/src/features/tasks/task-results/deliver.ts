import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { isForeignKeyViolation, transact } from '../../../db/db.ts'
import { attemptColumns, attemptError, bodySignature, nextAttempt } from '../../../deliveries/attempts.ts'
import type { Ends } from '../../../deliveries/loop.ts'
import { attemptSeconds } from '../../../metrics.ts'
import { TASK_TRUST } from '../../../outbound/failure.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import { taskReceiver } from '../run-tasks/receiver.ts'
import { taskHeaders, taskPayload } from '../run-tasks/request.ts'
import { type PoolExchange, sendThroughPool } from '../task-requests/send.ts'
import { endResults } from './deadlines.ts'
import * as store from './deliveries-store.ts'
import { resultNotice } from './events.ts'
import { lockWorkspaceOfRun } from './store.ts'

/** Response timeout of an attempt, in ms. Receivers may do their work before they respond. */
const RESPONSE_TIMEOUT_MS = 60_000
/** Time within which an agent of the task's pool must claim a request, in ms. */
const CLAIM_MS = 30_000

/**
 * Sends the request of a claim once and records the exchange. Returns whether the request will be retried: it is, with backoff until the deadline,
 * unless the response is 200. No transaction is open during the request, so a callback may arrive at any time.
 */
export async function deliver(ctx: Ctx, claim: store.ClaimedRequest, { shutdown, isLeased }: Ends): Promise<boolean> {
  const { task_id, url: taskUrl } = claim
  if (task_id === null || taskUrl === null) {
    await withdraw(ctx, claim)
    return false
  }

  const token = ctx.secrets.openText(claim.access_token, tokenContext(claim.id))
  const { url, hmacKey, ca, pool } = taskReceiver(ctx, { ...claim, id: task_id, url: taskUrl })
  // Serialised once: these exact bytes are signed and sent.
  const body = Buffer.from(JSON.stringify(taskPayload(ctx.baseUrl, claim, token)))
  const headers = taskHeaders(ctx.baseUrl, bodySignature(body, hmacKey))
  const left = claim.deadline_at.getTime() - ctx.now().getTime()
  const timeoutMs = Math.max(1, Math.min(RESPONSE_TIMEOUT_MS, left))
  const request = { url, headers, body, timeoutMs, ca, signal: shutdown }
  const route = pool && {
    pool,
    kind: 'task' as const,
    resultId: claim.id,
    claimMs: Math.max(1, Math.min(CLAIM_MS, left)),
  }
  // Claimed again, by any process.
  if (!isLeased()) return false
  const exchange: PoolExchange = route
    ? await sendThroughPool(ctx, route, request)
    : { ...(await ctx.outbound.post({ ...request, trust: TASK_TRUST })), fate: 'taken' }
  if (exchange.fate === 'left') {
    await store.chownToRun(ctx.db, claim)
    announce(ctx, resultNotice(claim))
    return false
  }

  const { response, fate } = exchange
  const delivered = response?.status === 200
  // When a process stops, another takes over at once. A request that no agent claimed has waited already.
  const isImmediate = (shutdown.aborted && !response) || fate === 'untaken'
  const next = delivered ? null : nextAttempt(ctx, claim, { isImmediate })
  const result = delivered ? 'delivered' : next === null ? 'failed' : 'retried'
  attemptSeconds.observe({ queue: 'run task', result }, exchange.durationMs / 1000)
  const recorded = store.recordDelivery(ctx.db, claim, {
    deliveredAt: delivered ? ctx.now() : null,
    row: {
      id: ctx.newId('taskdel'),
      task_id,
      ...attemptColumns(ctx, { request, exchange, secrets: [token] }),
      error: delivered ? null : attemptError(exchange, 'only 200 acknowledges the request'),
      agent_name: exchange.agentName ?? null,
      next_attempt_at: next,
    },
  })
  await recorded.catch((error: unknown) => {
    // The workspace and the result were deleted during the request.
    if (!isForeignKeyViolation(error)) throw error
  })
  announce(ctx, resultNotice(claim))
  return next !== null
}

/** The task and its URL were deleted: only a receiver that already has the request can still call back. */
async function withdraw(ctx: Ctx, claim: store.ClaimedRequest) {
  await transact(ctx, async (ctx) => {
    await lockWorkspaceOfRun(ctx.db, claim.run_id)
    const withdrawn = await store.withdrawDelivery(ctx.db, claim)
    if (withdrawn) announce(ctx, resultNotice(claim))
    if (!withdrawn || withdrawn.is_received) return
    const message = `the task ${claim.task_name} was deleted before its request was delivered`
    await endResults(ctx, claim.run_id, [{ id: claim.id, message }])
  })
}

export const sealedAccessToken = sealedColumn(
  'task_results.access_token',
  ['id'],
  ({ id }) => `task-results/${id}/access-token`,
)

export function tokenContext(resultId: string) {
  return sealedAccessToken.context({ id: resultId })
}
