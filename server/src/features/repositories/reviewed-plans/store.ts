import type { PlanDifference, ReviewResult } from '@groundstate/contract/reviewed-plans'
import type { PhaseStatus } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { PlanChange } from '../../../terraform-state/plan-changes.ts'

/** The plan of a run, where its JSON is, and its commit. */
export type PlannedRun = {
  id: string
  workspace_id: string
  plan_only: boolean
  awaits_review: boolean
  plan_status: PhaseStatus
  planned_at: Date | null
  job_id: string | null
  documents_pending_since: Date | null
  documents_error: string | null
  repository_id: string | null
  branch: string
  commit_sha: string
  tree_sha: string | null
  /** When the host reported the commit. */
  reported_at: Date
  is_digested: boolean
}

/** Undefined for a run without a commit. */
export async function findPlannedRun(db: Db, runId: string) {
  const { rows } = await sql<PlannedRun>`
    select r.id, r.workspace_id, r.plan_only, r.awaits_review, p.status as plan_status, p.ended_at as planned_at, p.job_id,
           p.documents_pending_since, p.documents_error, i.repository_id, i.branch, i.commit_sha, i.tree_sha,
           i.created_at as reported_at, exists (select from plan_digests d where d.run_id = r.id) as is_digested
      from runs r
      join phases p on p.run_id = r.id and p.kind = 'plan'
      join ingress_attributes i on i.id = r.ingress_attributes_id
     where r.id = ${runId}`.execute(db)
  return rows[0]
}

/** Active runs with a plan that is to be compared with a reviewed one. */
export async function listAwaitingReview(db: Db, repositoryId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('workspaces as w')
    .innerJoin('runs as r', 'r.id', 'w.active_run_id')
    .innerJoin('phases as p', (join) => join.onRef('p.run_id', '=', 'r.id').on('p.kind', '=', 'plan'))
    .select('r.id')
    .where('p.status', '=', 'finished')
    .where('w.repository_id', '=', repositoryId)
    .where('r.awaits_review', '=', true)
    .execute()
  return rows.map(({ id }) => id)
}

/** Null with the reason why the changes are unknown. */
export type PlanDigest = { changes: PlanChange[]; problem: null } | { changes: null; problem: string }

/** Stores the changes of a plan; false if they are stored already. */
export async function insertDigest(db: Db, runId: string, { changes, problem }: PlanDigest, now: Date) {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('plan_digests')
    .values({ run_id: runId, changes: changes && JSON.stringify(changes), problem, created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

export async function findDigest(db: Db, runId: string) {
  const row = await db
    .selectFrom('plan_digests')
    .select(['changes', 'problem'])
    .where('run_id', '=', runId)
    .$castTo<PlanDigest>()
    .executeTakeFirst()
  return row
}

type Merge = { number: number; url: string; mergeSha: string | null; branch: string; receivedAt: Date }

/** Maximum number of merges of a repository among which a commit is searched. */
const MAX_MERGES = 100

/** The pull requests that a host reported as merged, the last one first. */
export async function listMerges(db: Db, repositoryId: string, since: Date) {
  const { rows } = await sql<Merge>`
    select (event #>> '{pullRequest,number}')::integer as number, event #>> '{pullRequest,url}' as url,
           event #>> '{pullRequest,mergeSha}' as "mergeSha", event #>> '{pullRequest,base,branch}' as branch,
           received_at as "receivedAt"
      from vcs_deliveries
     where repository_id = ${repositoryId} and event ->> 'action' = 'merged' and received_at >= ${since}
     order by received_at desc limit ${MAX_MERGES}`.execute(db)
  return rows
}

export async function hasPullRequests(db: Db, repositoryId: string) {
  const { rows } = await sql`select from ingress_attributes
    where repository_id = ${repositoryId} and pull_request_number is not null limit 1`.execute(db)
  return rows.length > 0
}

export type ReviewedRun = { id: string; number: number; url: string }
type Reviewed = { workspaceId: string; repositoryId: string }

async function findReviewed(db: Db, { workspaceId, repositoryId }: Reviewed, condition: RawBuilder<unknown>) {
  const { rows } = await sql<ReviewedRun>`
    select r.id, i.pull_request_number as number, i.pull_request_url as url
      from ingress_attributes i
      join runs r on r.ingress_attributes_id = i.id and r.plan_only and r.workspace_id = ${workspaceId}
      join phases p on p.run_id = r.id and p.kind = 'plan' and p.status = 'finished'
     where i.repository_id = ${repositoryId} and i.pull_request_number is not null and ${condition}
     order by r.seq desc limit 1`.execute(db)
  return rows[0]
}

/** The last finished plan of a pull request in a workspace. */
export async function findPlanOf(db: Db, where: Reviewed & { number: number }) {
  return findReviewed(db, where, sql`i.pull_request_number = ${where.number}`)
}

/** The last finished plan of a pull request, in a workspace, that was made of the same tree. */
export async function findPlanOfTree(db: Db, where: Reviewed & { tree: string }) {
  return findReviewed(db, where, sql`i.tree_sha = ${where.tree}`)
}

export type Review = {
  runId: string
  repositoryId: string
  pullRequest: { number: number; url: string } | null
  reviewedRunId: string | null
  result: ReviewResult
  differences: readonly PlanDifference[]
  differenceCount: number
}

/** Records a comparison; false if there is one already. */
export async function insertReview(tx: Tx, review: Review, now: Date) {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('reviewed_plans')
    .values({
      run_id: review.runId,
      repository_id: review.repositoryId,
      pull_request_number: review.pullRequest?.number ?? null,
      pull_request_url: review.pullRequest?.url ?? null,
      reviewed_run_id: review.reviewedRunId,
      result: review.result,
      differences: JSON.stringify(review.differences),
      difference_count: review.differenceCount,
      created_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** The comparison of a run's plan with the reviewed one; undefined before it. */
export async function findReview(db: Db, runId: string) {
  return db
    .selectFrom('reviewed_plans')
    .selectAll()
    .where('run_id', '=', runId)
    .$narrowType<{ differences: PlanDifference[] }>()
    .executeTakeFirst()
}

export async function findPlanStatus(db: Db, runId: string) {
  const row = await db
    .selectFrom('phases')
    .select('status')
    .where('run_id', '=', runId)
    .where('kind', '=', 'plan')
    .executeTakeFirst()
  return row?.status
}

export type ListedChanges = { run_id: string; changes: PlanChange[] | null; problem: string | null; total: number }

/** The first changes of runs' plans, and their numbers. */
export async function listChanges(db: Db, runIds: readonly string[], limit: number) {
  const { rows } = await sql<ListedChanges>`
    select run_id, jsonb_path_query_array(changes, ${`$[0 to ${limit - 1}]`}::jsonpath) as changes, problem,
           coalesce(jsonb_array_length(changes), 0) as total
      from plan_digests where run_id = any(${runIds})`.execute(db)
  return rows
}

export async function listReviews(db: Db, runIds: readonly string[]) {
  return db
    .selectFrom('reviewed_plans')
    .selectAll()
    .where('run_id', '=', sql<string>`any(${runIds})`)
    .$narrowType<{ differences: PlanDifference[] }>()
    .execute()
}
