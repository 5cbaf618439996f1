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

/**
 * Sends what is due at the host of a connection. Returns when to call it again, if something is still due then. Throws the reason of the
 * signal if that has prevented something.
 */
export async function sendReports(ctx: Ctx, connectionId: string, signal: AbortSignal): Promise<Date | undefined> {
  const lease = { connectionId, holder: ctx.newId('lease') }
  // Checked after each lease, too: a caller that found it taken relies on that.
  while (await queue.hasDueReports(ctx.db, connectionId)) {
    signal.throwIfAborted()
    const isLeased = await queue.leaseReports(ctx.db, lease, { now: ctx.now(), until: leaseEnd(ctx) })
    // The process that has it may have been killed.
    if (!isLeased) return queue.awaitLease(ctx.db, connectionId, ctx.now())
    try {
      const later = await sendLeased(ctx, lease, signal)
      await queue.releaseReports(ctx.db, lease, ctx.now())
      if (later && !signal.aborted) return later
    } catch (error) {
      return pause(ctx, lease, error)
    }
  }
  return undefined
}

function leaseEnd(ctx: Ctx) {
  return new Date(ctx.now().getTime() + LEASE_MS)
}

async function sendLeased(ctx: Ctx, lease: queue.Lease, shutdown: AbortSignal) {
  const lost = new AbortController()
  await using _ = renewing(ctx, lease, lost)
  const signal = AbortSignal.any([shutdown, lost.signal])
  await sendStatuses(ctx, lease.connectionId, signal)
  return await sendComments(ctx, lease.connectionId, signal)
}

/** Renews the lease, however slow the host is, until it is disposed of. Aborts `lost` if another has it: this process was suspended. */
function renewing(ctx: Ctx, lease: queue.Lease, lost: AbortController): AsyncDisposable {
  let renewal = Promise.resolve()
  const renew = async () => {
    if (!(await queue.renewLease(ctx.db, lease, leaseEnd(ctx)))) lost.abort()
  }
  const timer = setInterval(() => {
    renewal = renew().catch((error: unknown) =>
      ctx.log.warn({ err: error }, 'the lease of commit statuses was not renewed'),
    )
  }, RENEWAL_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await renewal
    },
  }
}

/** Another process or a later call continues. What the host refuses for good has been recorded before. */
async function pause(ctx: Ctx, lease: queue.Lease, error: unknown) {
  const wait = error instanceof HostError ? waitOf(error) : () => MIN_RETRY_MS
  const now = ctx.now()
  const retryAt = (failures: number) => new Date(now.getTime() + wait(failures))
  const until = await queue.pauseReports(ctx.db, lease, { now, retryAt })
  if (!(error instanceof HostError)) throw error
  ctx.log.info({ connection: lease.connectionId, reason: error.message }, 'commit statuses wait for their host')
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
