import type { Ctx } from '../../../app.ts'
import { announceFound } from '../../../changes/announce.ts'
import { isForeignKeyViolation } from '../../../db/db.ts'
import { attemptColumns, backoff } from '../../../deliveries/attempts.ts'
import { subscribableOf } from '../notification-configurations/access.ts'
import type { Content } from '../notification-configurations/content.ts'
import { type Attempt, SIGNATURE_HEADER, isDelivered, sendMessage } from '../notification-configurations/send.ts'
import { configurationNotice } from '../notification-configurations/service.ts'
import { openTarget } from '../notification-configurations/target.ts'
import { recipientsOf } from '../notification-configurations/verify.ts'
import * as store from './delivery-store.ts'
import { readFailure } from './failure.ts'

/** Longest pause between two attempts, in ms. */
const MAX_PAUSE_MS = 20 * 60_000

/**
 * Sends the notification of a claim once and records the attempt. It is retried, with backoff until the deadline, unless the response is 2xx. Returns
 * whether a later notification of the run may be due now. No transaction is open during the request.
 */
export async function deliver(ctx: Ctx, claim: store.ClaimedNotification, signal: AbortSignal): Promise<boolean> {
  const target = claim.configuration
    ? openTarget(ctx, claim.configuration)
    : ({ type: 'email', url: undefined, token: undefined } as const)
  const recipients = target.type === 'email' ? await recipientsLeft(ctx, claim) : []
  if (target.type === 'email' && recipients.length === 0 && claim.delivered_to.length === 0) {
    const error = claim.configuration
      ? 'nobody receives it: no member is named who wants such e-mails'
      : 'the user no longer wants or may get this e-mail'
    await store.cancelNotification(ctx.db, claim, { error, now: ctx.now() })
    announceDelivery(ctx, claim)
    return true
  }
  const content = await contentOf(ctx, claim)
  const onAccepted = async (address: string) => store.addDelivered(ctx.db, claim.id, address)
  const attempt = await sendMessage(ctx, { target, content, mailTo: { recipients, onAccepted } }, signal)
  const { exchange } = attempt
  const delivered = isDelivered(exchange)
  const next = delivered ? null : nextAttempt(ctx, claim, signal.aborted && !exchange.response)
  const recorded = store.recordAttempt(ctx.db, claim, {
    id: ctx.newId('ntfdel'),
    columns: loggedColumns(ctx, attempt),
    error: delivered ? null : errorOf(attempt),
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

async function recipientsLeft(ctx: Ctx, claim: store.ClaimedNotification) {
  const { configuration, user_id: userId, organization_id: organizationId, trigger, delivered_to: done } = claim
  const own = userId === null ? undefined : await store.findOwnAddress(ctx.db, { id: userId, organizationId, trigger })
  const all = configuration ? await recipientsOf(ctx, configuration.id) : own === undefined ? [] : [own]
  return all.filter((address) => !done.includes(address))
}

/** The triggers before a plan has counts, which belong to a later status. */
const WITHOUT_COUNTS: ReadonlySet<string> = new Set(['run:created', 'run:planning'])

async function contentOf(ctx: Ctx, claim: store.ClaimedNotification): Promise<Content> {
  const { configuration, facts, trigger, workspace_id, run_id } = claim
  const { message, workspace_name, organization_name, ...run } = facts
  const failed = { workspaceId: workspace_id, phaseId: claim.failed_phase_id, error: claim.run_error }
  return {
    configuration: configuration && { id: configuration.id, name: configuration.name },
    trigger,
    message,
    workspace: { workspace_id, workspace_name, organization_name },
    run: run_id === null ? null : ({ ...run, run_id } as Content['run']),
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

function errorOf({ exchange: { response, error } }: Attempt) {
  if (!response) return error ?? null
  const redirect = response.status >= 300 && response.status < 400 ? ', and redirects are not followed' : ''
  return `the response was ${response.status}: only 200 to 299 acknowledges the notification${redirect}`
}

/** Time of the next attempt; null if the deadline is earlier. When a process stops, another takes over at once. */
function nextAttempt(ctx: Ctx, { attempt, deadline_at: deadline }: store.ClaimedNotification, isImmediate: boolean) {
  const next = new Date(ctx.now().getTime() + (isImmediate ? 0 : backoff(attempt, Math.random(), MAX_PAUSE_MS)))
  return next < deadline ? next : null
}

function announceDelivery(ctx: Ctx, { configuration, organization_id: organization }: store.ClaimedNotification) {
  const subscribable = configuration && subscribableOf(configuration)
  if (!subscribable) return
  announceFound(ctx, async () => {
    const notice = await configurationNotice(ctx, { id: configuration.id, subscribable })
    return [{ organization, ...notice }]
  })
}
