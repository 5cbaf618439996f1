import { isDeepStrictEqual } from 'node:util'
import type { Ctx } from '../../../app.ts'
import { concurrencyLimit } from '../../../concurrency-limit.ts'
import type { Ends, Queue } from '../../../deliveries/loop.ts'
import { type Claim, type Connections, renewLeases } from '../../../deliveries/queue.ts'
import { attemptSeconds } from '../../../metrics.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { type Connection, callHost } from '../connections/connection.ts'
import { logRequests } from './log.ts'
import * as queueStore from './queue-store.ts'
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
const MIN_RETRY_MS = 10_000
const MAX_RETRY_MS = 3_600_000

/** Topic that wakes the processes that report to hosts. */
export const TOPIC = 'commit-statuses'

/** A process reports to this many hosts at once. */
export const REPORT_CONNECTIONS: Connections = { all: 50, reserved: 0, perOrganization: 50, perReceiver: 1 }

/** The reports to the host of each connection. */
export const reportQueue: Queue<Claim> = {
  name: 'commit status',
  topic: TOPIC,
  firstDue: queueStore.FIRST_DUE,
  nextDue: queueStore.nextDue,
  claim: async (ctx, options) => queueStore.claimReports(ctx.db, options),
  renew: async (db, leases) => renewLeases(db, { table: 'host_reports' }, leases),
  // The claim limits only the number of hosts: each has one request at a time.
  receiverOf: ({ id }) => ({ receiverId: id, organizationId: id }),
  deliver: sendReports,
}

/** Sends what is due at the host of a connection. More may have become due meanwhile. */
async function sendReports(ctx: Ctx, claim: Claim, { shutdown, lost }: Ends) {
  const signal = AbortSignal.any([shutdown, lost])
  const endTimer = attemptSeconds.startTimer({ queue: 'commit status' })
  try {
    await sendStatuses(ctx, claim.id, signal)
    await sendComments(ctx, claim.id, signal)
    await queueStore.releaseReports(ctx.db, claim)
    endTimer({ result: 'delivered' })
  } catch (error) {
    endTimer({ result: 'retried' })
    await pause(ctx, claim, error)
  }
  return true
}

/** Another process or a later call continues. What the host refuses for good has been recorded before. */
async function pause(ctx: Ctx, claim: Claim, error: unknown) {
  const wait = error instanceof HostError ? waitOf(error) : () => MIN_RETRY_MS
  const now = ctx.now()
  await queueStore.pauseReports(ctx.db, claim, (failures) => new Date(now.getTime() + wait(failures)))
  if (!(error instanceof HostError)) throw error
  ctx.log.info({ connection: claim.id, reason: error.message }, 'commit statuses wait for their host')
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
    await logRequests(ctx, { connection, reported: row }, async (logged) =>
      callHost(ctx, logged, async (api) => api.setStatus(row.identifier, row.commit_sha, status)),
    )
    await recordAcceptance(ctx, row.repository_id, 'status')
  }
  await store.finishStatus(ctx.db, row, status === undefined || row.is_replaced ? {} : { sent: status })
}
