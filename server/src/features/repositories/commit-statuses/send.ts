import { isDeepStrictEqual } from 'node:util'
import type { Ctx } from '../../../app.ts'
import { concurrencyLimit } from '../../../concurrency-limit.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { type Connection, callHost } from '../connections/connection.ts'
import * as queue from './queue-store.ts'
import { lastingProblem, recordAcceptance, recordRefusal } from './refusals.ts'
import { openReported, sendComments } from './send-comments.ts'
import { commitStatus } from './status.ts'
import * as store from './store.ts'

/*
 * One process at a time reports to the host of a connection, so an earlier state never replaces a later one, and hosts that limit requests
 * get few at once. A report is due while its version is newer than the one that was sent: reactions only increase versions.
 */

/** Number of statuses that are sent before the next ones are read. */
const BATCH = 8
/** Hosts ask for few concurrent writes. */
const CONCURRENT_REQUESTS = 2
/** A process that was killed holds its lease for this long, in ms. */
const LEASE_MS = 30_000
const RENEWAL_MS = 10_000
const MIN_RETRY_MS = 10_000
const MAX_RETRY_MS = 3_600_000

/** Sends what is due at the host of a connection. Returns when to call it again, if something is still due then. */
export async function sendReports(ctx: Ctx, connectionId: string, signal: AbortSignal): Promise<Date | undefined> {
  while (await queue.leaseReports(ctx.db, connectionId, { now: ctx.now(), until: leaseEnd(ctx) })) {
    try {
      const later = await sendLeased(ctx, connectionId, signal)
      await queue.releaseReports(ctx.db, connectionId, ctx.now())
      if (signal.aborted || later) return later
    } catch (error) {
      return pause(ctx, connectionId, error)
    }
    // A caller that found the lease taken relies on this check after its end.
    if (!(await queue.hasDueReports(ctx.db, connectionId))) return undefined
  }
  // Its process may have been killed.
  return queue.awaitLease(ctx.db, connectionId, ctx.now())
}

function leaseEnd(ctx: Ctx) {
  return new Date(ctx.now().getTime() + LEASE_MS)
}

async function sendLeased(ctx: Ctx, connectionId: string, signal: AbortSignal) {
  await using _ = renewing(ctx, connectionId)
  await sendStatuses(ctx, connectionId, signal)
  return await sendComments(ctx, connectionId, signal)
}

/** Renews the lease, however slow the host is, until it is disposed of. */
function renewing(ctx: Ctx, connectionId: string): AsyncDisposable {
  let renewal = Promise.resolve()
  const timer = setInterval(() => {
    renewal = queue
      .renewLease(ctx.db, connectionId, leaseEnd(ctx))
      .catch((error: unknown) => ctx.log.warn({ err: error }, 'the lease of commit statuses was not renewed'))
  }, RENEWAL_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await renewal
    },
  }
}

/** Another process or a later call continues. What the host refuses for good has been recorded before. */
async function pause(ctx: Ctx, connectionId: string, error: unknown) {
  const wait = error instanceof HostError ? waitOf(error) : () => MIN_RETRY_MS
  const now = ctx.now()
  const retryAt = (failures: number) => new Date(now.getTime() + wait(failures))
  const until = await queue.pauseReports(ctx.db, connectionId, { now, retryAt })
  if (!(error instanceof HostError)) throw error
  ctx.log.info({ connection: connectionId, reason: error.message }, 'commit statuses wait for their host')
  return until
}

function waitOf({ kind, retryAfterMs }: HostError): (failures: number) => number {
  if (kind === 'rate-limited' && retryAfterMs !== undefined) return () => retryAfterMs
  if (kind === 'unauthorised') return () => MAX_RETRY_MS
  return (failures) => Math.max(retryAfterMs ?? 0, Math.min(MIN_RETRY_MS * 2 ** failures, MAX_RETRY_MS))
}

async function sendStatuses(ctx: Ctx, connectionId: string, signal: AbortSignal) {
  for (;;) {
    const rows = await store.listDueStatuses(ctx.db, connectionId, BATCH)
    const [first] = rows
    if (!first || signal.aborted) return
    const opened = await openReported(ctx, first.repository_id)
    if (!opened) return
    await sendBatch(ctx, { connection: opened.connection, rows, signal })
  }
}

type DueStatus = Awaited<ReturnType<typeof store.listDueStatuses>>[number]

type Batch = { connection: Connection; rows: readonly DueStatus[]; signal: AbortSignal }

/** Throws the first error after which the rest must wait. */
async function sendBatch(ctx: Ctx, { connection, rows, signal }: Batch) {
  const limit = concurrencyLimit(CONCURRENT_REQUESTS)
  let failure: Error | undefined
  const refused = new Set<string>()
  const sendNext = async (row: DueStatus) => {
    if (failure || signal.aborted || refused.has(`${row.repository_id} ${row.commit_sha}`)) return
    try {
      await sendStatus(ctx, connection, row)
    } catch (error) {
      const problem = lastingProblem(ctx, error)
      if (problem === undefined) return void (failure ??= error as Error)
      if (error instanceof HostError) {
        refused.add(`${row.repository_id} ${row.commit_sha}`)
        const repository = { id: row.repository_id, identifier: row.identifier }
        await recordRefusal(ctx, connection, { repository, what: 'status', message: problem })
        await store.refuseStatuses(ctx.db, row, problem)
      }
      // Waits for a transaction that changes the report: the host would be asked again at once.
      await store.finishStatus(ctx.db, row, { error: problem })
    }
  }
  await Promise.all(rows.map(async (row) => limit(async () => sendNext(row))))
  if (failure) throw failure
}

/** Hosts keep every status that they get, and limit their number: an equal one is not sent again. */
async function sendStatus(ctx: Ctx, connection: Connection, row: DueStatus) {
  const status = commitStatus(ctx.baseUrl, row)
  const isSent =
    status === undefined ||
    row.is_replaced ||
    !connection.host.capabilities.hasStatuses ||
    isDeepStrictEqual(status, row.sent)
  if (!isSent) {
    await callHost(ctx, connection, async (api) => api.setStatus(row.identifier, row.commit_sha, status))
    await recordAcceptance(ctx, row.repository_id, 'status')
  }
  await store.finishStatus(ctx.db, row, status === undefined || row.is_replaced ? {} : { sent: status })
}
