import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { isForeignKeyViolation, transact } from '../../../db/db.ts'
import type { Exchange } from '../../../outbound/outbound.ts'
import { taskReceiver } from '../run-tasks/receiver.ts'
import { taskHeaders, taskPayload, taskSignature } from '../run-tasks/request.ts'
import { type Sent, sendThroughPool } from '../task-requests/send.ts'
import { tokenContext } from './access-token.ts'
import { resultNotice } from './announce.ts'
import { backoff } from './backoff.ts'
import * as store from './deliveries-store.ts'
import { endResults } from './end.ts'
import { redactBytes, redactHeaders, redactText } from './redact.ts'
import { lockWorkspaceOfRun } from './store.ts'

/** Receivers may do their work before they answer. After this time without a response an attempt has failed, in ms. */
const RESPONSE_TIMEOUT_MS = 60_000
/** An attempt has failed that no agent of the task's pool takes for this long, in ms. */
const CLAIM_MS = 30_000

/**
 * Sends the request of a claim once and records the exchange. 200 means delivered; otherwise the request is sent again
 * after a pause, until the deadline, and true is returned. No transaction is open meanwhile, so the callback may come at any time.
 */
export async function deliver(ctx: Ctx, claim: store.ClaimedRequest, signal: AbortSignal): Promise<boolean> {
  const { task_id, url: taskUrl } = claim
  if (task_id === null || taskUrl === null) {
    await giveUp(ctx, claim)
    return false
  }

  const token = ctx.secrets.openText(claim.access_token, tokenContext(claim.id))
  const { url, hmacKey, ca, pool } = taskReceiver(ctx, { ...claim, id: task_id, url: taskUrl })
  // Serialised once: the signature is over the very bytes that are sent.
  const body = Buffer.from(JSON.stringify(taskPayload(ctx.baseUrl, subject(claim, token))))
  const headers = taskHeaders(ctx.baseUrl, taskSignature(body, hmacKey))
  const left = claim.deadline_at.getTime() - ctx.now().getTime()
  const timeoutMs = Math.max(1, Math.min(RESPONSE_TIMEOUT_MS, left))
  const request = { url, headers, body, timeoutMs, ca, signal }
  const way = pool && { pool, resultId: claim.id, claimMs: Math.max(1, Math.min(CLAIM_MS, left)) }
  const exchange: Sent = way
    ? await sendThroughPool(ctx, way, request)
    : { ...(await ctx.outbound.post(request)), fate: 'taken' }
  // Another process waits for the agent in the place of this one.
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
    // The workspace was deleted while the request was on its way, and the result with it: there is nothing to record.
    if (!isForeignKeyViolation(error)) throw error
  })
  announce(ctx, resultNotice(claim))
  return next !== null
}

/** The task is deleted, and its URL with it: only a receiver that has been asked already can still call back. */
async function giveUp(ctx: Ctx, claim: store.ClaimedRequest) {
  await transact(ctx, async (ctx) => {
    await lockWorkspaceOfRun(ctx.db, claim.run_id)
    const withdrawn = await store.withdrawDelivery(ctx.db, claim)
    if (withdrawn) announce(ctx, resultNotice(claim))
    if (!withdrawn || withdrawn.is_asked) return
    const message = `the task ${claim.task_name} was deleted before its request was delivered`
    await endResults(ctx, claim.run_id, [{ id: claim.id, message }])
  })
}

function subject(claim: store.ClaimedRequest, accessToken: string) {
  return {
    stage: claim.stage,
    accessToken,
    enforcementLevel: claim.enforcement_level,
    taskResultId: claim.id,
    organizationName: claim.organization_name,
    workspace: { id: claim.workspace_id, name: claim.workspace_name, workingDirectory: claim.working_directory },
    run: {
      id: claim.run_id,
      createdAt: claim.run_created_at,
      createdBy: claim.username ?? 'groundstate',
      message: claim.run_message,
      speculative: claim.plan_only,
      planId: claim.plan_id,
      configurationVersionId: claim.configuration_version_id,
      hasConfiguration: claim.configuration_status === 'uploaded',
    },
  }
}

/** Why a request was not delivered; null when it was. */
function deliveryError({ response, error }: Exchange) {
  if (!response) return error
  if (response.status === 200) return null
  const redirect = response.status >= 300 && response.status < 400 ? ', and redirects are not followed' : ''
  return `it was answered with ${response.status}: only 200 says that the request has arrived${redirect}`
}

/** When the request is sent again; null when it was delivered, or when the deadline comes first. */
function nextAttempt(
  ctx: Ctx,
  { attempt }: store.Claim,
  { exchange, deadline, stopped }: { exchange: Sent; deadline: Date; stopped: boolean },
) {
  if (exchange.response?.status === 200) return null
  // Another process takes over from one that was stopped, and sends at once. A request that no agent took has waited already.
  const isAtOnce = (stopped && !exchange.response) || exchange.fate === 'untaken'
  const pause = isAtOnce ? 0 : backoff(attempt, Math.random())
  const next = new Date(ctx.now().getTime() + pause)
  return next < deadline ? next : null
}
