import type { Ctx } from '../../../app.ts'
import { announceFound } from '../../../changes/announce.ts'
import { isForeignKeyViolation } from '../../../db/db.ts'
import { attemptColumns, attemptError, nextAttempt, userAgent } from '../../../deliveries/attempts.ts'
import type { Ends } from '../../../deliveries/loop.ts'
import type { MailReply } from '../../../mail/mail.ts'
import { attemptSeconds } from '../../../metrics.ts'
import { SealError } from '../../../secrets/secrets.ts'
import { subscribableOf } from '../notification-configurations/access.ts'
import type { Content } from '../notification-configurations/content.ts'
import { recipientsOf } from '../notification-configurations/recipients.ts'
import {
  type Attempt,
  SIGNATURE_HEADER,
  isAccepted,
  isDelivered,
  sendMessage,
} from '../notification-configurations/send.ts'
import { configurationNotice } from '../notification-configurations/service.ts'
import { type Target, openTarget } from '../notification-configurations/target.ts'
import * as store from './delivery-store.ts'
import { readFailure, readWithoutValues } from './failure.ts'

/** Longest pause between two attempts, in ms. */
const MAX_PAUSE_MS = 20 * 60_000

/**
 * Sends the notification of a claim once and records the attempt. It is retried, with backoff until the deadline, unless the response is 2xx or a
 * retry would be in vain. Returns whether a later notification of the run may be due now. No transaction is open during the request.
 */
export async function deliver(ctx: Ctx, claim: store.ClaimedNotification, ends: Ends): Promise<boolean> {
  const signal = AbortSignal.any([ends.shutdown, ends.lost])
  const target = targetOf(ctx, claim)
  const { addresses: recipients, problem } =
    target?.type === 'email' ? await recipientsLeft(ctx, claim) : { addresses: [], problem: null }
  const ended = endOf(claim, problem)
  if (ended) {
    await store.endNotification(ctx.db, claim, { ...ended, now: ctx.now() })
    announceDelivery(ctx, claim)
    return true
  }
  const content = target && (await contentOf(ctx, claim))
  // Claimed again, by any process.
  if (!ends.isLeased()) return false
  const attempt =
    target && content ? await send(ctx, claim, { target, content, recipients, signal }) : undecryptable(ctx)
  const { exchange } = attempt
  const delivered = isDelivered(exchange)
  const isOver = delivered || attempt.isFinal === true
  // When a process stops, another takes over at once.
  const isImmediate = signal.aborted && !exchange.response
  const next = isOver ? null : nextAttempt(ctx, claim, { isImmediate, maxMs: MAX_PAUSE_MS })
  const result = delivered ? 'delivered' : next === null ? 'failed' : 'retried'
  attemptSeconds.observe({ queue: 'notification', result }, exchange.durationMs / 1000)
  const recorded = store.recordAttempt(ctx.db, claim, {
    id: ctx.newId('ntfdel'),
    columns: loggedColumns(ctx, attempt),
    error: delivered ? null : attemptError(exchange, 'only 200 to 299 acknowledges the notification'),
    deliveredAt: delivered ? ctx.now() : null,
    next,
    now: ctx.now(),
  })
  await recorded.catch((error: unknown) => {
    // The configuration was deleted during the request.
    if (!isForeignKeyViolation(error)) throw error
  })
  announceDelivery(ctx, claim)
  return next === null
}

/** Undefined if the destination cannot be decrypted. */
function targetOf(ctx: Ctx, { configuration }: store.ClaimedNotification): Target | undefined {
  if (!configuration) return { type: 'email', url: undefined, token: undefined }
  try {
    return openTarget(ctx, configuration)
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    ctx.log.error(
      { err: error, configuration: configuration.id },
      'the destination of notifications cannot be decrypted',
    )
    return undefined
  }
}

function undecryptable(ctx: Ctx): Attempt {
  const error = 'the URL or the token cannot be decrypted, since the secret of the server has changed: set them again'
  const exchange = { startedAt: Date.now(), durationMs: 0, isPrivate: false, error }
  const headers = { 'user-agent': userAgent(ctx.baseUrl) }
  return { request: { url: '', headers, body: Buffer.alloc(0) }, exchange, secrets: [] }
}

/** The status of a notification that is not sent, and the reason; undefined for the others. */
function endOf({ configuration, delivered_to, refused_to }: store.ClaimedNotification, problem: string | null) {
  if (configuration?.enabled === false)
    return { status: 'canceled' as const, error: 'the notification configuration was disabled' }
  if (problem === null) return undefined
  const refused = refused_to.length > 0 ? `the mail server refused these recipients: ${refused_to.join(', ')}` : null
  if (delivered_to.length > 0) return { status: 'delivered' as const, error: refused }
  return refused === null
    ? { status: 'canceled' as const, error: problem }
    : { status: 'failed' as const, error: refused }
}

type Sent = { target: Target; content: Content; recipients: readonly string[]; signal: AbortSignal }

async function send(ctx: Ctx, claim: store.ClaimedNotification, { target, content, recipients, signal }: Sent) {
  const mailTo = {
    recipients,
    wasDelivered: claim.delivered_to.length > 0,
    onEnd: async (reply: MailReply) =>
      store.addAnswered(ctx.db, claim.id, { address: reply.address, isAccepted: isAccepted(reply) }),
  }
  return sendMessage(ctx, { target, content, mailTo }, signal)
}

async function recipientsLeft(ctx: Ctx, claim: store.ClaimedNotification) {
  const { configuration, user_id: userId, organization_id: organizationId, trigger } = claim
  const own =
    userId === null
      ? undefined
      : await store.findOwnAddress(ctx.db, { id: userId, organizationId, workspaceId: claim.workspace_id, trigger })
  const unwanted = 'the user no longer wants or may get this e-mail'
  const all = configuration
    ? await recipientsOf(ctx, configuration.id)
    : { addresses: own === undefined ? [] : [own], problem: own === undefined ? unwanted : null }
  const done = new Set([...claim.delivered_to, ...claim.refused_to])
  const addresses = all.addresses.filter((address) => !done.has(address))
  return { addresses, problem: addresses.length > 0 ? null : (all.problem ?? 'all recipients have answered') }
}

/** The triggers of a run that a person has approved. */
const AFTER_APPROVAL: ReadonlySet<string> = new Set(['run:applying', 'run:completed', 'run:errored'])
/** The triggers before a plan has counts, which belong to a later status. */
const WITHOUT_COUNTS: ReadonlySet<string> = new Set(['run:created', 'run:planning'])

async function contentOf(ctx: Ctx, claim: store.ClaimedNotification): Promise<Content> {
  const { configuration, facts, trigger, workspace_id, run_id } = claim
  const { message, workspace_name, organization_name, deleted_by, ...run } = facts
  const failed = { workspaceId: workspace_id, phaseId: claim.failed_phase_id, error: claim.run_error }
  return {
    configuration: configuration && { id: configuration.id, name: configuration.name },
    trigger,
    message,
    place: `${organization_name}/${workspace_name}`,
    approved_by: AFTER_APPROVAL.has(trigger) ? claim.approved_by : null,
    deleted_by,
    workspace: { workspace_id, workspace_name, organization_name },
    run:
      run_id === null
        ? null
        : ({
            ...run,
            run_id,
            run_message: await readWithoutValues(ctx, workspace_id, facts.run_message ?? ''),
          } as Content['run']),
    counts: WITHOUT_COUNTS.has(trigger) ? null : claim.counts,
    failure: await readFailure(ctx, failed),
  }
}

/** The columns of an attempt, without the signature and with only the host of the URL: its path may be a secret. */
function loggedColumns(ctx: Ctx, attempt: Attempt) {
  const columns = attemptColumns(ctx, attempt)
  const { [SIGNATURE_HEADER]: _, ...headers } = columns.request_headers
  const url = URL.parse(attempt.request.url)
  return { ...columns, request_headers: headers, url: url && url.host !== '' ? `${url.origin}/…` : attempt.request.url }
}

function announceDelivery(ctx: Ctx, { configuration, organization_id: organization }: store.ClaimedNotification) {
  const subscribable = configuration && subscribableOf(configuration)
  if (!subscribable) return
  announceFound(ctx, async () => {
    const notice = await configurationNotice(ctx, { id: configuration.id, subscribable })
    return [{ organization, ...notice }]
  })
}
