import { MAX_DIFFERENCES } from '@groundstate/contract/reviewed-plans'
import { isEnded } from '@groundstate/contract/run-status'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { announce, runNotice } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { domainEvent, raise } from '../../../events.ts'
import { planDifferences } from '../../../terraform-state/plan-changes.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { applyChange } from '../../runs/runs/advance.ts'
import { runAudit } from '../../runs/runs/audit.ts'
import { type LockedRun, lockRun } from '../../runs/runs/locked-run-store.ts'
import type { Change } from '../../runs/runs/transition.ts'
import { callHost, openConnectionOf } from '../connections/connection.ts'
import { findRepository } from '../git/store.ts'
import { digestPlan } from './digest.ts'
import * as store from './store.ts'

/** The plan of a merged commit was compared with the reviewed one; raised in the transaction. */
export const planReviewed = domainEvent<{ runId: string; pullRequestNumber: number | null }>('plan.reviewed')

/** Time in ms for the host to report the merge of a commit that it has reported as pushed: the order is not defined. */
const MERGE_REPORTED_MS = 30_000
/** A merge is reported at most this long before its commit, in ms. */
const MERGED_BEFORE_MS = 86_400_000
/** A host that is down for this long after the plan, in ms, counts as one that refuses, so that the run is decided. */
const MAX_OUTAGE_MS = 60 * 60_000
const ASK_AGAIN_MS = 60_000
/** Pull requests that the host is asked about for one commit. */
const MAX_ASKED = 3

type PushedRun = store.PlannedRun & { repository_id: string }
type Found = {
  pullRequest: store.Review['pullRequest']
  reviewed: store.ReviewedRun | undefined
  /** The host refuses to say which pull request was merged. */
  isRefused: boolean
}

/**
 * Compares the plan of a pushed commit with the plan of the pull request that was merged, and applies or holds the run if that decides.
 * Idempotent. Returns when to call it again if the host may still report the merge, or is down.
 */
export async function reviewPlan(ctx: Ctx, run: store.PlannedRun): Promise<Date | undefined> {
  if (run.repository_id === null) return settleRun(ctx, run, undefined)
  const pushed = { ...run, repository_id: run.repository_id }
  const found = await findReviewed(ctx, pushed).catch(laterIfOut)
  if (typeof found === 'number') return new Date(ctx.now().getTime() + found)
  const reportedBy = new Date(run.reported_at.getTime() + MERGE_REPORTED_MS)
  if (!found.pullRequest && ctx.now() < reportedBy && (await store.hasPullRequests(ctx.db, pushed.repository_id)))
    return reportedBy
  return settleRun(ctx, run, await compared(ctx, pushed, found))
}

/** When to ask the host again, in ms. */
function laterIfOut(error: unknown) {
  if (!(error instanceof HostError)) throw error
  return Math.max(error.retryAfterMs ?? 0, ASK_AGAIN_MS)
}

async function findReviewed(ctx: Ctx, run: PushedRun): Promise<Found> {
  const { workspace_id: workspaceId, repository_id: repositoryId, tree_sha: tree } = run
  const { pullRequest, isRefused } = await findMerged(ctx, run)
  if (pullRequest) {
    const { number } = pullRequest
    const plan = await store.findPlanOf(ctx.db, { workspaceId, repositoryId, number })
    return { pullRequest, reviewed: plan, isRefused }
  }
  const reviewed = tree === null ? undefined : await store.findPlanOfTree(ctx.db, { workspaceId, repositoryId, tree })
  return { pullRequest: reviewed ? { number: reviewed.number, url: reviewed.url } : null, reviewed, isRefused }
}

/** The pull request whose merge made the commit. Some hosts abbreviate commits, others have to be asked. */
async function findMerged(ctx: Ctx, run: PushedRun) {
  const since = new Date(run.reported_at.getTime() - MERGED_BEFORE_MS)
  const merges = await store.listMerges(ctx.db, run.repository_id, since)
  const isCommit = (sha: string | null) => sha !== null && sha.length >= 7 && run.commit_sha.startsWith(sha)
  const reported = merges.find(({ mergeSha }) => isCommit(mergeSha))
  let isRefused = false
  if (reported) return { pullRequest: reported, isRefused }
  const silent = merges.filter(({ mergeSha, branch }) => mergeSha === null && branch === run.branch)
  for (const merge of silent.slice(0, MAX_ASKED)) {
    const asked = await askHost(ctx, run, merge.number)
    if (asked === 'refused') isRefused = true
    else if (isCommit(asked?.mergeSha ?? null)) return { pullRequest: merge, isRefused }
  }
  return { pullRequest: undefined, isRefused }
}

/** Throws a `HostError` if the host may answer soon. */
async function askHost(ctx: Ctx, run: PushedRun, number: number) {
  const repository = await findRepository(ctx.db, run.repository_id)
  if (!repository) return undefined
  try {
    const connection = await openConnectionOf(ctx, repository)
    if (!connection.host.api) return undefined
    return await callHost(ctx, connection, async (api) => api.findPullRequest(repository.identifier, number))
  } catch (error) {
    if (!(error instanceof HostError)) throw error
    if (error.mayPass && ctx.now().getTime() - (run.planned_at?.getTime() ?? 0) < MAX_OUTAGE_MS) throw error
    return 'refused'
  }
}

async function compared(ctx: Ctx, run: PushedRun, { pullRequest, reviewed, isRefused }: Found): Promise<store.Review> {
  const review = { runId: run.id, repositoryId: run.repository_id, pullRequest, reviewedRunId: reviewed?.id ?? null }
  const none = { differences: [], differenceCount: 0 }
  if (!reviewed) return { ...review, ...none, result: isRefused ? 'unknown' : 'unreviewed' }
  const earlier = await store.findPlannedRun(ctx.db, reviewed.id)
  if (earlier) await digestPlan(ctx, earlier)
  const [before, after] = [await store.findDigest(ctx.db, reviewed.id), await store.findDigest(ctx.db, run.id)]
  if (!before?.changes || !after?.changes) return { ...review, ...none, result: 'unknown' }
  const differences = planDifferences(before.changes, after.changes)
  return {
    ...review,
    result: differences.length === 0 ? 'identical' : 'different',
    differences: differences.slice(0, MAX_DIFFERENCES),
    differenceCount: differences.length,
  }
}

/** Records the comparison, and ends the wait of a run for it. */
async function settleRun(ctx: Ctx, run: store.PlannedRun, review: store.Review | undefined) {
  await transact(ctx, async (ctx) => {
    const locked = await lockRun(ctx.db, { id: run.id, workspaceId: run.workspace_id })
    if (!locked) return
    if (review && !(await store.insertReview(ctx.db, review, ctx.now()))) return
    if (locked.run.awaits_review) {
      const change = reviewChange(locked, review)
      await applyChange(ctx, locked, change)
      if (change.run?.auto_apply === true) await recordAudit(ctx, runAudit(locked.run, 'apply'))
    }
    await raise(ctx, planReviewed, { runId: run.id, pullRequestNumber: review?.pullRequest?.number ?? null })
    announce(ctx, runNotice(locked.run))
  })
  return undefined
}

function reviewChange({ run }: LockedRun, review: store.Review | undefined): Change {
  const settled = { awaits_review: false }
  // A user was faster.
  if (isEnded(run.status) || run.confirmed_at !== null) return { run: settled }
  const number = review?.pullRequest ? `#${review.pullRequest.number}` : 'its pull request'
  if (review?.result === 'identical') {
    const description = `identical to the plan reviewed in ${number}`
    return { run: { ...settled, auto_apply: true }, events: [{ action: 'confirmed', description }] }
  }
  if (review?.result !== 'different' && review?.result !== 'unknown') return { run: settled }
  const why =
    review.result === 'different'
      ? `${review.differenceCount} changes differ from the plan reviewed in ${number}`
      : `the plan could not be compared with the one reviewed in ${number}`
  const description = `${why}: the run waits for confirmation`
  return { run: { ...settled, auto_apply: false }, events: [{ action: 'review_failed', description }] }
}
