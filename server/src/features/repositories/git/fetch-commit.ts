import type { GitSource } from '@groundstate/contract/git-operations'
import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { jobHandler, scheduledJob } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { SHARED_PREFIX } from '../../runs/configuration-versions/urls.ts'
import { type FetchingVersion, delayFetches, endFetches } from '../../runs/runs/fetched.ts'
import { type Attempt, type Attempts, attempt, attemptsSchema } from './attempts.ts'
import { fetchArchive, runGit } from './run.ts'
import * as store from './store.ts'

/** Maximum size of the files of a configuration, in bytes; agents unpack no more. */
export const MAX_FILES_BYTES = 1024 ** 3

/** Jobs wait for the network most of the time. */
export const FETCHING = { concurrency: 12, retryLimit: 14, timeLimitMs: 3_600_000 }
const fetchCommitJob = jobKind(
  'configurations.fetch',
  z.object({ ingressId: z.string(), attempts: attemptsSchema.optional() }),
  FETCHING,
)

/** Has the archive of a commit fetched for all versions that wait for it, after the transaction of `ctx`. */
export async function fetchCommitLater(ctx: TransactionCtx, ingressId: string) {
  await ctx.jobs.enqueue(ctx.db, fetchCommitJob, { ingressId })
}

export const fetchCommitJobs = [
  jobHandler(fetchCommitJob, async (ctx, { ingressId, attempts }, signal) =>
    fetchCommit({ ...ctx, actor: SYSTEM }, ingressId, { attempts, signal }),
  ),
  scheduledJob('configurations.end-fetches', '11 * * * *', endLostFetches),
]

const LOST_HOURS = 6

/** Ends fetches that have had time for all attempts: their job is gone, for instance because it could not record the result. */
export async function endLostFetches(ctx: Ctx) {
  const before = new Date(ctx.now().getTime() - LOST_HOURS * 3_600_000)
  const lost = await store.listFetchingSince(ctx.db, before)
  if (lost.length === 0) return
  ctx.log.warn({ versions: lost.map(({ id }) => id) }, 'ended fetches of configurations that were lost')
  const message = `the configuration was not fetched within ${LOST_HOURS} hours: start a new run`
  await endFetches({ ...ctx, actor: SYSTEM }, lost, { message })
}

type Retry = Extract<Attempt<unknown>, { kind: 'retry' }>
type Options = { attempts: Attempts | undefined; signal: AbortSignal }

/**
 * Makes one archive of a commit for all versions that wait for it, or two if only some of their workspaces want submodules. A job that runs
 * again makes one for those that are left.
 */
async function fetchCommit(ctx: Ctx, ingressId: string, { attempts, signal }: Options) {
  const versions = await store.listFetching(ctx.db, ingressId)
  const ingress = await store.findIngress(ctx.db, ingressId)
  const [first] = versions
  if (!first || !ingress) return
  const fetching = versions.filter(({ submodules }) => submodules === first.submodules)
  const repository = await store.findRepository(ctx.db, ingress.repository_id)
  if (!repository) return endFetches(ctx, fetching, { message: REPOSITORY_LEFT })
  const blobKey = `${SHARED_PREFIX}${ingressId}/${ctx.newId('fetch')}`
  const archive = { kind: 'archive', submodules: first.submodules, maxBytes: MAX_FILES_BYTES } as const
  const operation = { ...archive, source: sourceOf(ingress) }
  const outcome = await attempt(ctx, { repository, attempts, signal, isReported: true }, async () => ({
    ...(await fetchArchive(ctx, repository, { operation, blobKey, signal })),
    message: await missingMessage(ctx, { repository, ingress, signal }),
  }))
  if (outcome.kind === 'retry') {
    const data = { ingressId, attempts: outcome.attempts }
    await noteRetry(ctx, { repository, versions: fetching }, outcome)
    return ctx.jobs.enqueue(ctx.db, fetchCommitJob, data, { startAfter: outcome.at })
  }
  if (outcome.kind === 'failed') {
    await endFetches(ctx, fetching, { message: fetchFailure(repository, outcome.failure) })
  } else {
    const { tree, size, message } = outcome.result
    await store.setFetched(ctx.db, ingressId, {
      tree_sha: tree,
      ...(message !== undefined && { commit_message: message }),
    })
    await endFetches(ctx, fetching, { key: blobKey, size, runMessage: message })
  }
  if (fetching.length < versions.length) await ctx.jobs.enqueue(ctx.db, fetchCommitJob, { ingressId })
}

type Described = { repository: store.RepositoryRow; ingress: store.IngressRow; signal: AbortSignal }

/** The message of a commit whose host has not said it. */
async function missingMessage(ctx: Ctx, { repository, ingress, signal }: Described) {
  const { commit_message: stated, commit_sha: sha, commit_ref: ref } = ingress
  if (stated !== '') return undefined
  const { message } = await runGit(ctx, repository, { kind: 'commit', commit: { sha, ref } }, { signal })
  return message.slice(0, store.MAX_MESSAGE)
}

export const REPOSITORY_LEFT = 'the repository of the configuration is no longer connected'

export function fetchFailure({ identifier }: Pick<store.RepositoryRow, 'identifier'>, failure: string) {
  return `the configuration cannot be fetched from ${identifier}: ${failure}`
}

type Delayed = { repository: store.RepositoryRow; versions: readonly FetchingVersion[] }

/** Shows why a fetch is repeated, with the runs that wait for it. */
export async function noteRetry(ctx: Ctx, { repository, versions }: Delayed, { at, failure }: Retry) {
  if (failure === undefined) return
  const next = `${at.toISOString().slice(11, 19)} UTC`
  await delayFetches(ctx, versions, `${fetchFailure(repository, failure)}; the next attempt is at ${next}`)
}

/** A pull request is planned as merged into its base. */
function sourceOf({ commit_sha: sha, commit_ref: ref, base_sha: base, branch }: store.IngressRow): GitSource {
  const commit = { sha, ref }
  return base === null ? { commit } : { merge: { base: { sha: base, ref: `refs/heads/${branch}` }, head: commit } }
}
