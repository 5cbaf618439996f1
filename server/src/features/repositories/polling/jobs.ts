import { GitError } from '@groundstate/agent/git/errors'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { AppError } from '../../../errors.ts'
import { jobHandler, reaction, scheduledJob } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { credentialsChanged } from '../../vcs/oauth-clients/service.ts'
import { recordVcsEvent } from '../vcs-events/record.ts'
import { pollRepository } from './poll.ts'
import * as store from './store.ts'

/*
 * Each minute, every connection with repositories to poll gets a job, at its own second. The job polls them a few at a time, so that a
 * connection with many of them takes longer but never sends a burst of requests, and a slow host delays only its own connection. A connection
 * whose host does not answer gets its next job later and later, since each one occupies a worker for a minute.
 */

/** Due repositories are polled up to half a minute early: jobs start at full minutes. */
const EARLY_MS = 30_000
const MINUTE_MS = 60_000
/** Repositories of one connection that are polled at the same time. */
const CONCURRENT_POLLS = 2
const POLL_TIMEOUT_MS = 60_000
/** Longer than a job waits for a worker: the polls of a connection are enqueued again after it if their job is lost. */
const CLAIM_MS = 30 * MINUTE_MS
/** A repository whose webhooks arrive is polled less often, by this factor. */
const RELAXATION = 10

const pollJob = jobKind('repositories.poll', z.object({ tokenId: z.string() }), {
  concurrency: 8,
  retryLimit: 1,
  timeLimitMs: 300_000,
})

export const pollingJobs = [
  scheduledJob('repositories.schedule-polls', '* * * * *', schedulePolls, { retryLimit: 0 }),
  jobHandler(pollJob, async (ctx, { tokenId }, signal) => pollThrough({ ...ctx, actor: SYSTEM }, tokenId, signal)),
]

export const pollingReactions = [
  reaction(credentialsChanged, async (ctx, { tokenId }) => store.resumePolls(ctx.db, tokenId)),
]

/** Enqueues the polls of the next minute. */
export async function schedulePolls(ctx: Ctx) {
  const now = ctx.now()
  const after = (ms: number) => new Date(now.getTime() + ms)
  await transact(ctx, async (ctx) => {
    for (const tokenId of await store.claimDueTokens(ctx.db, { due: after(MINUTE_MS), now, until: after(CLAIM_MS) }))
      await ctx.jobs.enqueue(ctx.db, pollJob, { tokenId }, { startAfter: after(offsetOf(tokenId)) })
  })
}

/** Spreads connections over the minute: from 0 to 59 seconds, in ms. */
function offsetOf(tokenId: string) {
  return Buffer.from(tokenId).reduce((sum, byte) => (sum * 31 + byte) % 60, 0) * 1000
}

/** Polls the due repositories of a connection for a minute. The rest stays due. */
async function pollThrough(ctx: Ctx, tokenId: string, signal: AbortSignal) {
  const end = ctx.now().getTime() + MINUTE_MS
  const intervalMs = ctx.config.pollingInterval * 1000
  let [hasFailed, hasAnswered] = [false, false]
  const pollOneByOne = async () => {
    while (!hasFailed && !signal.aborted && ctx.now().getTime() < end) {
      const now = ctx.now()
      const due = new Date(now.getTime() + EARLY_MS)
      const times = { due, now, intervalMs, relaxedMs: intervalMs * RELAXATION }
      const repository = await store.claimRepository(ctx.db, { tokenId, ...times })
      if (!repository) return
      if (await tryPoll(ctx, repository, { intervalMs, signal })) hasAnswered = true
      else hasFailed = true
    }
  }
  try {
    await Promise.all(Array.from({ length: CONCURRENT_POLLS }, pollOneByOne))
  } finally {
    // If one repository of several is slow, its own delay is enough.
    await store.endPolls(ctx.db, tokenId, { hasAnswered: hasAnswered || !hasFailed, now: ctx.now(), intervalMs })
  }
}

type Attempt = { intervalMs: number; signal: AbortSignal }

/** Whether the host may be asked about further repositories now. */
async function tryPoll(ctx: Ctx, repository: store.PolledRepository, { intervalMs, signal }: Attempt) {
  try {
    await pollRepository(ctx, repository, AbortSignal.any([signal, AbortSignal.timeout(POLL_TIMEOUT_MS)]))
    return true
  } catch (error) {
    // The connection was deleted in the meantime.
    if (error instanceof AppError && error.kind === 'not-found') return true
    const isExpected = error instanceof GitError || error instanceof HostError || isTimeout(error)
    if (signal.aborted || !isExpected) throw error
    const { id, identifier, poll_failures: failures } = repository
    ctx.log.warn({ repository: id, identifier, reason: error.message }, 'a repository could not be polled')
    await store.recordFailure(ctx.db, id, { now: ctx.now(), intervalMs })
    const kind = isTimeout(error) ? 'timed-out' : error.kind
    if (failures === 0 && !RECORDED.has(kind)) await recordProblem(ctx, repository, error.message)
    return !CONCERNS_HOST.has(kind)
  }
}

async function recordProblem(ctx: Ctx, repository: store.PolledRepository, reason: string) {
  await recordVcsEvent(ctx, {
    organizationId: repository.organization_id,
    clientId: repository.oauth_client_id,
    tokenId: repository.oauth_token_id,
    level: 'error',
    message: `could not poll ${repository.identifier}: ${reason}`,
    suggestedAction:
      'Check that the repository exists and that the connection may read it; polling continues less often',
  })
}

/** Failures that are recorded with the connection. */
const RECORDED: ReadonlySet<string> = new Set(['unauthorised', 'rate-limited'])
/** Failures that the other repositories of the connection would share. */
const CONCERNS_HOST: ReadonlySet<string> = new Set([
  'unauthorised',
  'rate-limited',
  'unavailable',
  'unreachable',
  'timed-out',
])

function isTimeout(error: unknown): error is DOMException {
  return error instanceof DOMException && error.name === 'TimeoutError'
}
