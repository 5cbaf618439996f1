import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { isForeignKeyViolation, transact } from '../../../db/db.ts'
import type { Exchange } from '../../../outbound/outbound.ts'
import { taskReceiver } from '../run-tasks/receiver.ts'
import { taskHeaders, taskPayload, taskSignature } from '../run-tasks/request.ts'
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
 * Sends the request of a claim once and records the exchange. Unless the response is 200, the request is retried after a
 * delay until the deadline, and true is returned. No transaction is open meanwhile, so a callback may arrive at any time.
 */
export async function deliver(ctx: Ctx, claim: store.ClaimedRequest, signal: AbortSignal): Promise<boolean> {
  const { task_id, url: taskUrl } = claim
  if (task_id === null || taskUrl === null) {
    await withdraw(ctx, claim)
    return false
  }

  const token = ctx.secrets.openText(claim.access_token, tokenContext(claim.id))
  const { url, hmacKey, ca, pool } = taskReceiver(ctx, { ...claim, id: task_id, url: taskUrl })
  // Serialised once: these exact bytes are signed and sent.
  const body = Buffer.from(JSON.stringify(taskPayload(ctx.baseUrl, claim, token)))
  const headers = taskHeaders(ctx.baseUrl, taskSignature(body, hmacKey))
  const left = claim.deadline_at.getTime() - ctx.now().getTime()
  const timeoutMs = Math.max(1, Math.min(RESPONSE_TIMEOUT_MS, left))
  const request = { url, headers, body, timeoutMs, ca, signal }
  const route = pool && { pool, resultId: claim.id, claimMs: Math.max(1, Math.min(CLAIM_MS, left)) }
  const exchange: PoolExchange = route
    ? await sendThroughPool(ctx, route, request)
    : { ...(await ctx.outbound.post(request)), fate: 'taken' }
  // Another process now waits for the agent.
  if (exchange.fate === 'left') {
    await store.handOver(ctx.db, claim)
    announce(ctx, resultNotice(claim))
    return false
  }

  const next = nextAttempt(ctx, claim, { exchange, deadline: claim.deadline_at, stopped: signal.aborted })
  const recorded = store.recordDelivery(ctx.db, claim, {
    deliveredAt: exchange.response?.status === 200 ? ctx.now() : null,
    row: {
      id: ctx.newId('taskdel'),
      sent_at: new Date(ctx.now().getTime() - (Date.now() - exchange.startedAt)),
      duration_ms: exchange.durationMs,
      url,
      request_headers: headers,
      request_body: redactText(body.toString(), token),
      response_status: exchange.response?.status ?? null,
      response_headers: exchange.response ? redactHeaders(exchange.response.headers, token) : null,
      response_body: exchange.response ? redactBytes(exchange.response.body, token) : null,
      response_truncated: exchange.response?.truncated ?? false,
      error: deliveryError(exchange),
      agent_name: exchange.agentName ?? null,
      is_private: exchange.isPrivate,
      next_attempt_at: next,
    },
  })
  await recorded.catch((error: unknown) => {
    // The workspace was deleted during the request, and the result with it: there is nothing to record.
    if (!isForeignKeyViolation(error)) throw error
  })
  announce(ctx, resultNotice(claim))
  return next !== null
}

/** The task was deleted, and its URL with it: only a receiver that already has the request can still call back. */
async function withdraw(ctx: Ctx, claim: store.ClaimedRequest) {
  await transact(ctx, async (ctx) => {
    await lockWorkspaceOfRun(ctx.db, claim.run_id)
    const withdrawn = await store.withdrawDelivery(ctx.db, claim)
    if (withdrawn) announce(ctx, resultNotice(claim))
    if (!withdrawn || withdrawn.is_asked) return
    const message = `the task ${claim.task_name} was deleted before its request was delivered`
    await endResults(ctx, claim.run_id, [{ id: claim.id, message }])
  })
}

/** The error of a failed delivery; null for a successful one. */
function deliveryError({ response, error }: Exchange) {
  if (!response) return error
  if (response.status === 200) return null
  const redirect = response.status >= 300 && response.status < 400 ? ', and redirects are not followed' : ''
  return `the response was ${response.status}: only 200 acknowledges the request${redirect}`
}

/** Time of the next attempt; null if the request was delivered or the deadline is earlier. */
function nextAttempt(
  ctx: Ctx,
  { attempt }: store.Claim,
  { exchange, deadline, stopped }: { exchange: PoolExchange; deadline: Date; stopped: boolean },
) {
  if (exchange.response?.status === 200) return null
  // When a process stops, another takes over at once. A request that no agent claimed has waited already.
  const isImmediate = (stopped && !exchange.response) || exchange.fate === 'untaken'
  const pause = isImmediate ? 0 : backoff(attempt, Math.random())
  const next = new Date(ctx.now().getTime() + pause)
  return next < deadline ? next : null
}

const FIRST_MS = 1000
const MAX_MS = 60_000

/**
 * Retry delay after attempt `attempt` (from 1), in ms: at most a second, doubling up to a minute. Half of it is jitter,
 * so that requests to a receiver that was down do not all return at once. `random` is in [0, 1).
 */
export function backoff(attempt: number, random: number) {
  const longest = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 16))
  return Math.round(longest * (0.5 + random / 2))
}

const HIDDEN = '[redacted]'
const SECRET_HEADERS = new Set(['set-cookie', 'authorization', 'proxy-authorization', 'www-authenticate', 'cookie'])

/** Replaces all occurrences of a secret. */
function redactText(text: string, secret: string) {
  return text.replaceAll(secret, HIDDEN)
}

/** As `redactText`, for headers. Some headers are hidden entirely. */
function redactHeaders(headers: Record<string, string | string[]>, secret: string) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (SECRET_HEADERS.has(name.toLowerCase())) return [name, HIDDEN]
      return [name, Array.isArray(value) ? value.map((text) => redactText(text, secret)) : redactText(value, secret)]
    }),
  )
}

/** As `redactText`, for bytes that may not be text. */
function redactBytes(bytes: Buffer, secret: string) {
  return bytes.includes(secret) ? Buffer.from(redactText(bytes.toString('latin1'), secret), 'latin1') : bytes
}

/** Encryption context of a result's token. */
export function tokenContext(resultId: string) {
  return `task-results/${resultId}/access-token`
}
