import { createHash } from 'node:crypto'
import { ZodError } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { AppError, invalid, notFound, unauthorized } from '../../../errors.ts'
import { webhookDeliveries } from '../../../metrics.ts'
import { signatureProblem } from '../../../vcs-hosts/bodies.ts'
import { parseAppWebhook } from '../../../vcs-hosts/github/webhooks.ts'
import type { HostEvent, HostWebhooks, ParsedWebhook, WebhookRequest } from '../../../vcs-hosts/host.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import { webhookContext } from '../../vcs/repositories/service.ts'
import { githubAppSettings } from '../connections/github-app.ts'
import { recordInstallation } from '../connections/installations.ts'
import type { RepositoryRow } from '../git/store.ts'
import { recordRepositoryProblem } from '../vcs-events/record.ts'
import { decideLater } from './decide-delivery.ts'
import * as store from './store.ts'

/** Maximum size of a webhook's body, in bytes; GitHub sends at most 25 MB (public documentation: "Webhook events and payloads"). */
export const MAX_WEBHOOK_BYTES = 25 * 1024 * 1024

/** Reads a request, whose body may be large: only where a webhook is expected. */
type ReadWebhook = () => Promise<WebhookRequest>

/**
 * Stores what a host reports, and has it decided by a background job: hosts expect a response within seconds. A repeated delivery is
 * stored once. Throws `unauthorized` for a wrong signature, after which nothing is stored, and `not-found` for another repository than
 * that of the URL, which owners find in the log.
 */
export async function receiveWebhook(ctx: Ctx, path: string, read: ReadWebhook) {
  const repository = await store.findWebhookRepository(ctx.db, path)
  if (!repository) throw notFound('webhook')
  await measured(repository.service_provider, async () => {
    const request = await read()
    const { webhooks } = hostOf(repository.service_provider)
    const secret = ctx.secrets.openText(repository.webhook_secret, webhookContext(repository.id))
    if (!webhooks.verify(request, secret)) throw unauthorized(signatureProblem(webhooks, request))
    const parsed = parse(webhooks, request)
    const problem = problemOf(repository, parsed)
    const key = keyOf(webhooks, request)
    await transact(ctx, async (ctx) => storeDelivery(ctx, { repository, parsed, problem, key }))
    if (problem !== undefined) throw notFound(`repository ${parsed.identifier}`)
  })
}

async function measured(host: string, receive: () => Promise<void>) {
  try {
    await receive()
    webhookDeliveries.inc({ host, result: 'accepted' })
  } catch (error) {
    webhookDeliveries.inc({ host, result: error instanceof AppError ? 'rejected' : 'failed' })
    throw error
  }
}

/**
 * As `receiveWebhook`, for the webhook of the GitHub App. It reports all repositories of its installations: those that nothing uses
 * are ignored.
 */
export async function receiveAppWebhook(ctx: Ctx, read: ReadWebhook) {
  const settings = githubAppSettings(ctx)
  if (!settings) throw notFound('GitHub App')
  await measured(settings.provider, async () => receiveFromApp(ctx, settings, read))
}

type AppSettings = NonNullable<ReturnType<typeof githubAppSettings>>

async function receiveFromApp(ctx: Ctx, settings: AppSettings, read: ReadWebhook) {
  const request = await read()
  const { httpUrl, webhookSecret } = settings
  const { webhooks } = hostOf(settings.provider)
  if (!webhooks.verify(request, webhookSecret)) throw unauthorized(signatureProblem(webhooks, request))
  const { installationId, change } = parsedOrInvalid(() => parseAppWebhook(request))
  if (installationId === undefined) return
  if (change !== undefined) return recordInstallation(ctx, installationId, change)
  const parsed = parse(webhooks, request)
  const { identifier } = parsed
  if (identifier === undefined) return
  const key = keyOf(webhooks, request)
  await transact(ctx, async (ctx) => {
    for (const repository of await store.listInstallationRepositories(ctx.db, { installationId, httpUrl, identifier }))
      await storeDelivery(ctx, { repository, parsed, problem: undefined, key })
  })
}

function keyOf(webhooks: HostWebhooks, request: WebhookRequest) {
  return webhooks.deliveryId(request) ?? createHash('sha256').update(request.body).digest('hex')
}

type Reported = { repository: RepositoryRow; parsed: ParsedWebhook; problem: string | undefined; key: string }

async function storeDelivery(ctx: TransactionCtx, { repository, parsed, problem, key }: Reported) {
  const common = { repository, key, source: 'webhook' as const }
  if (problem !== undefined) {
    // A repetition is no news.
    if (!(await insertReceived(ctx, { ...common, status: 'failed', message: problem }))) return
    await recordRepositoryProblem(ctx, repository, { message: problem })
  } else if (parsed.events) await insertEvents(ctx, { ...common, events: parsed.events })
  else await insertReceived(ctx, { ...common, status: 'ignored', message: parsed.ignored })
}

function parse(webhooks: HostWebhooks, request: WebhookRequest): ParsedWebhook {
  return parsedOrInvalid(() => webhooks.parse(request))
}

function parsedOrInvalid<Parsed>(parse: () => Parsed): Parsed {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof ZodError)) throw error
    const [issue] = error.issues
    throw invalid(`the body is not one that this host sends: ${issue?.path.join('.') || 'body'}: ${issue?.message}`)
  }
}

function problemOf({ identifier }: RepositoryRow, parsed: ParsedWebhook) {
  if (parsed.identifier === undefined || parsed.identifier.toLowerCase() === identifier.toLowerCase()) return undefined
  return `the webhook of ${identifier} reported the repository ${parsed.identifier}: remove it there, or connect that repository`
}

type Received = {
  repository: Pick<RepositoryRow, 'id' | 'organization_id' | 'identifier'>
  /** Unique in the repository. */
  key: string
  source: 'webhook' | 'polling' | 'replay'
}

/** Stores events to decide, in the transaction of `ctx`; those with a known key are left out. */
export async function insertEvents(
  ctx: TransactionCtx,
  { events, key, ...received }: Received & { events: readonly HostEvent[] },
) {
  const rows = events.map((event, index) =>
    deliveryRow(ctx, { ...received, key: index === 0 ? key : `${key}#${index}`, status: 'pending', event }),
  )
  const ids = await store.insertDeliveries(ctx.db, rows)
  for (const id of ids) await decideLater(ctx, id)
  announceDeliveries(ctx, received.repository, ids)
}

async function insertReceived(
  ctx: TransactionCtx,
  received: Received & { status: 'failed' | 'ignored'; message: string },
) {
  const ids = await store.insertDeliveries(ctx.db, [deliveryRow(ctx, received)])
  announceDeliveries(ctx, received.repository, ids)
  return ids.length > 0
}

type NewDelivery = Received & { status: 'pending' | 'failed' | 'ignored'; message?: string; event?: HostEvent }

function deliveryRow(ctx: Ctx, { repository, key, source, status, message, event }: NewDelivery) {
  return {
    id: ctx.newId('vcsd'),
    organization_id: repository.organization_id,
    repository_id: repository.id,
    repository_identifier: repository.identifier,
    delivery_key: key,
    source,
    status,
    event: event ?? null,
    message: message ?? null,
    received_at: ctx.now(),
  }
}

function announceDeliveries(
  ctx: TransactionCtx,
  { organization_id: organization }: Received['repository'],
  ids: string[],
) {
  announce(ctx, ...ids.map((id) => ({ organization, type: 'vcs-deliveries' as const, id })))
}
