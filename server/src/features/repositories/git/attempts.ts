import { GitError } from '@groundstate/agent/git/errors'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { AppError } from '../../../errors.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { busyUntil, throttled } from '../connections/throttle.ts'

/** Failed attempts of a job that asks git or a host: their number, the time of the first one in ms, and how often it waited for others. */
export const attemptsSchema = z.object({ count: z.int(), since: z.int(), waits: z.int().optional() })
export type Attempts = z.infer<typeof attemptsSchema>

/**
 * An attempt: its result, when to make the next one, or why it failed for good, for users. `failure` says why, unless it had
 * to wait. `isShared` if every attempt in the repository would fail, now or later.
 */
export type Attempt<Result> =
  | { kind: 'done'; result: Result }
  | { kind: 'retry'; at: Date; attempts: Attempts; failure?: string }
  | { kind: 'failed'; failure: string; isShared: boolean }

const HOUR_MS = 3_600_000
/** Hosts report commits and pull requests some seconds before git can fetch them. */
const APPEARANCE_MS = 60_000
const FIRST_DELAY_MS = 2000
const MAX_DELAY_MS = 5 * 60_000
/** Repositories that this process reads at present. */
const busy = new Set<string>()
/** Repositories whose host has just failed this process: their other jobs share the failure until the next attempt. Times in ms. */
const failing = new Map<string, Expected & { count: number; until: number }>()

type Attempted = {
  repository: Repository
  attempts: Attempts | undefined
  signal: AbortSignal
  isReported: boolean
}
type Repository = { id: string; oauth_token_id: string | null; github_app_installation_id: string | null }

/** The connection of a repository, for `throttled`. */
export function connectionOf({ oauth_token_id, github_app_installation_id }: Omit<Repository, 'id'>) {
  return oauth_token_id ?? github_app_installation_id
}

/**
 * Runs `work`, one at a time for each repository in this process, and throttled for each connection. Failures that may pass are repeated for an
 * hour, with backoff, and so are unexpected errors, which are logged. Those of the host are shared by the jobs of the repository. What git
 * does not find is repeated for a minute if the host has reported it. Throws after an abort.
 */
export async function attempt<Result>(
  ctx: Pick<Ctx, 'now' | 'log'>,
  { repository, attempts, signal, isReported }: Attempted,
  work: () => Promise<Result>,
): Promise<Attempt<Result>> {
  const { count, since } = attempts?.count ? attempts : { count: 0, since: ctx.now().getTime() }
  const waits = attempts?.waits ?? 0
  const waitUntil = (at: Date) => ({ kind: 'retry', at, attempts: { count, since, waits: waits + 1 } }) as const
  if (busy.has(repository.id)) return waitUntil(busyUntil(ctx, waits))
  const shared = failing.get(repository.id)
  if (shared && ctx.now().getTime() < shared.until) return next({ ...shared, now: ctx.now().getTime(), since })
  busy.add(repository.id)
  try {
    const outcome = await throttled(ctx, { connection: connectionOf(repository), waits }, work)
    if ('at' in outcome) return waitUntil(outcome.at)
    failing.delete(repository.id)
    return { kind: 'done', result: outcome.result }
  } catch (error) {
    signal.throwIfAborted()
    const expected = expectedFailure(error, isReported)
    if (!expected) ctx.log.error({ err: error, repository: repository.id }, 'an attempt to read a repository failed')
    const now = ctx.now().getTime()
    const failures = Math.max(count, shared?.count ?? 0)
    const retryAfterMs = (error instanceof HostError && error.retryAfterMs) || 0
    const until = now + Math.max(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures), retryAfterMs)
    const failure = { ...(expected ?? UNEXPECTED), count: failures + 1, until }
    forgetOld(now)
    if (expected?.patienceMs === HOUR_MS) failing.set(repository.id, failure)
    else failing.delete(repository.id)
    return next({ ...failure, now, since })
  } finally {
    busy.delete(repository.id)
  }
}

function forgetOld(now: number) {
  for (const [id, { until }] of failing) if (now > until + HOUR_MS) failing.delete(id)
}

type Failed = Expected & { count: number; until: number; now: number; since: number }

function next({
  message: failure,
  patienceMs,
  count,
  until,
  now,
  since,
}: Failed): Exclude<Attempt<never>, { kind: 'done' }> {
  if (now - since >= patienceMs) return { kind: 'failed', failure, isShared: patienceMs === 0 }
  return { kind: 'retry', at: new Date(until), attempts: { count, since }, failure }
}

/** Why git or the host failed, for users, and for how long that is retried. */
type Expected = { message: string; patienceMs: number }

/** Undefined for an error of another kind. */
function expectedFailure(error: unknown, isReported: boolean): Expected | undefined {
  if (error instanceof GitError || error instanceof HostError) {
    const appears = error instanceof GitError && error.kind === 'not-found' && isReported
    return { message: error.message, patienceMs: error.mayPass ? HOUR_MS : appears ? APPEARANCE_MS : 0 }
  }
  // The connection was deleted.
  return error instanceof AppError && error.kind === 'not-found' ? { message: error.message, patienceMs: 0 } : undefined
}

const UNEXPECTED = { message: 'an internal error occurred, which the log of the server describes', patienceMs: HOUR_MS }
