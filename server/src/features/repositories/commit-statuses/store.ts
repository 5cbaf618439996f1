import type { PhaseStatus, RunStatus } from '@groundstate/contract/run-status'
import type { DecisionReason } from '@groundstate/contract/vcs-deliveries'
import { type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { CommitStatus } from '../../../vcs-hosts/host.ts'

type Counts = { imports: number; additions: number; changes: number; destructions: number }
type Phase = { status: PhaseStatus; counts: Counts | null }

export type ReportedRun = {
  id: string
  status: RunStatus
  plan_only: boolean
  has_changes: boolean
  /** The configuration has not been fetched. */
  fetches: boolean
  has_failed_stage: boolean
  plan: Phase
  apply: Phase
}

/** A workspace at a commit, with its run or the reason why it has none. */
export type ReportRow = {
  workspace_id: string
  workspace_name: string
  organization_name: string
  commit_sha: string
  kind: 'run' | 'plan'
  repository_id: string
  identifier: string
  run: ReportedRun | null
  reason: DecisionReason | null
  detail: string | null
  /** Whether skipped workspaces have a status on pull requests. */
  shows_skipped: boolean
  version: number
  sent: CommitStatus | null
}

/** The connection of a repository `r`. */
export const connectionOf = sql<string>`coalesce(r.oauth_token_id, r.github_app_installation_id)`

const isStatusDue = sql<boolean>`s.sent_version < s.version`
const isCommentDue = sql<boolean>`s.commented_version < s.version and s.pull_request_number is not null`
export const isDue = sql<boolean>`(${isStatusDue} or (${isCommentDue}))`

/** Delay of a report in ms, since runs often pass through several statuses at once. */
const DEBOUNCE_MS = 1500

function dueAt(now: Date) {
  return new Date(now.getTime() + DEBOUNCE_MS)
}

type ChangedRun = {
  id: string
  workspace_id: string
  number: number
  plan_only: boolean
  ingress_attributes_id: string | null
}

/** Marks the report of a run's workspace as due, unless the commit has a later run of the kind, or the run has no commit. */
export async function putRunReport(tx: Tx, run: ChangedRun, now: Date): Promise<boolean> {
  const { rows } = await sql`
    insert into commit_statuses as s (workspace_id, commit_sha, kind, repository_id, run_id, run_number,
                                      pull_request_number, created_at, due_at)
    select ${run.workspace_id}, i.commit_sha, ${run.plan_only ? 'plan' : 'run'}, i.repository_id, ${run.id},
           ${run.number}::integer, i.pull_request_number, ${now}::timestamptz, ${dueAt(now)}::timestamptz
      from ingress_attributes i where i.id = ${run.ingress_attributes_id} and i.repository_id is not null
    on conflict (workspace_id, commit_sha, kind) do update
       set run_id = excluded.run_id, run_number = excluded.run_number, reason = null, detail = null,
           repository_id = excluded.repository_id, version = s.version + 1, due_at = excluded.due_at,
           pull_request_number = coalesce(excluded.pull_request_number, s.pull_request_number)
     where s.run_number is null or s.run_number <= excluded.run_number
    returning s.workspace_id`.execute(tx)
  return rows.length > 0
}

export type SkippedWorkspaces = {
  deliveryId: string
  repositoryId: string
  sha: string
  kind: 'run' | 'plan'
  pullRequestNumber: number | null
  /** The reasons that are reported: those of workspaces that follow the branch. */
  reasons: readonly DecisionReason[]
}

/** Marks the workspaces as due that a delivery skipped, unless they have a run for the commit. Returns whether there are any. */
export async function putSkipReports(tx: Tx, skipped: SkippedWorkspaces, now: Date): Promise<boolean> {
  const { deliveryId, repositoryId, sha, kind, pullRequestNumber, reasons } = skipped
  const { rows } = await sql`
    insert into commit_statuses as s (workspace_id, commit_sha, kind, repository_id, reason, detail,
                                      pull_request_number, created_at, due_at)
    select x.workspace_id, ${sha}, ${kind}, ${repositoryId}, x.reason, x.detail, ${pullRequestNumber}::integer,
           ${now}::timestamptz, ${dueAt(now)}::timestamptz
      from vcs_decisions x
     where x.delivery_id = ${deliveryId} and x.decision = 'skip' and x.reason = any(${reasons})
     order by x.workspace_id
    on conflict (workspace_id, commit_sha, kind) do update
       set reason = excluded.reason, detail = excluded.detail, version = s.version + 1, due_at = excluded.due_at,
           pull_request_number = excluded.pull_request_number
     where s.run_id is null
       and (s.reason, s.detail, s.pull_request_number)
           is distinct from (excluded.reason, excluded.detail, excluded.pull_request_number)
    returning s.workspace_id`.execute(tx)
  return rows.length > 0
}

/** Marks the report of a run as due, and as a part of the comment on a pull request if that is known. */
export async function touchReport(
  tx: Tx,
  runId: string,
  { pullRequestNumber = null, now }: { pullRequestNumber?: number | null; now: Date },
) {
  const { numAffectedRows = 0n } = await sql`
    update commit_statuses
       set version = version + 1, due_at = ${dueAt(now)},
           pull_request_number = coalesce(${pullRequestNumber}::integer, pull_request_number)
     where run_id = ${runId}`.execute(tx)
  return numAffectedRows > 0n
}

const phaseColumn = (phase: string) => sql`jsonb_build_object('status', ${sql.ref(`${phase}.status`)}, 'counts',
  case when ${sql.ref(`${phase}.resource_additions`)} is not null then jsonb_build_object(
    'imports', coalesce(${sql.ref(`${phase}.resource_imports`)}, 0),
    'additions', ${sql.ref(`${phase}.resource_additions`)}, 'changes', ${sql.ref(`${phase}.resource_changes`)},
    'destructions', ${sql.ref(`${phase}.resource_destructions`)}) end)`

/** Reports, with what they are about. A failed task or policy is one that stopped the run. */
export function selectReports(condition: RawBuilder<unknown>) {
  return sql<ReportRow>`
    select s.workspace_id, w.name as workspace_name, o.name as organization_name, s.commit_sha, s.kind, s.repository_id,
           r.identifier, s.reason, s.detail, s.version, s.sent,
           (o.aggregated_commit_status_enabled or o.send_passing_statuses) as shows_skipped,
           case when run.id is not null then jsonb_build_object(
             'id', run.id, 'status', run.status, 'plan_only', run.plan_only, 'has_changes', run.has_changes,
             'fetches', run.fetches, 'plan', ${phaseColumn('plan')}, 'apply', ${phaseColumn('apply')},
             'has_failed_stage', exists (select from task_stages t where t.run_id = run.id and t.status in ('failed', 'errored')))
           end as run
      from commit_statuses s
      join repositories r on r.id = s.repository_id
      join workspaces w on w.id = s.workspace_id
      join organizations o on o.id = w.organization_id
      left join runs run on run.id = s.run_id
      left join phases plan on plan.run_id = run.id and plan.kind = 'plan'
      left join phases apply on apply.run_id = run.id and apply.kind = 'apply'
     where ${condition}`
}

/** The oldest statuses that are due at a connection's host. Runs of a commit take precedence over its plans. */
export async function listDueStatuses(db: Db, connectionId: string, limit: number) {
  const { rows } = await sql<ReportRow & { is_replaced: boolean }>`
    select due.*, due.kind = 'plan' and exists (select from commit_statuses n where n.workspace_id = due.workspace_id
             and n.commit_sha = due.commit_sha and n.kind = 'run' and n.run_id is not null) as is_replaced
      from (${selectReports(sql`${connectionOf} = ${connectionId} and ${isStatusDue}
        order by s.created_at, s.workspace_id limit ${limit}`)}) due`.execute(db)
  return rows
}

type Key = Pick<ReportRow, 'workspace_id' | 'commit_sha' | 'kind' | 'version'>
type Outcome = { sent?: CommitStatus; error?: string | null }

/**
 * Records that the version of a report has been sent, needs no status or was refused. The later one is due again if it was sent before:
 * a process that was suspended may have replaced it at the host.
 */
export async function finishStatus(
  db: Db,
  { workspace_id, commit_sha, kind, version }: Key,
  { sent, error = null }: Outcome,
) {
  await db
    .updateTable('commit_statuses')
    .set({
      sent_version: version,
      error,
      ...(sent && { sent: JSON.stringify(sent) }),
    })
    .where('workspace_id', '=', workspace_id)
    .where('commit_sha', '=', commit_sha)
    .where('kind', '=', kind)
    .execute()
}

type Commit = Pick<ReportRow, 'repository_id' | 'commit_sha'>

/** Gives up the due statuses of a commit that are not changing: the token may not set any, or the host no longer has the commit. */
export async function refuseStatuses(db: Db, { repository_id, commit_sha }: Commit, error: string) {
  await sql`update commit_statuses s set sent_version = version, error = ${error}
    where s.ctid = any(array(select s.ctid from commit_statuses s
      where s.repository_id = ${repository_id} and s.commit_sha = ${commit_sha} and ${isStatusDue}
      for update skip locked))`.execute(db)
}

/** Marks refused statuses and comments of a connection as due, if they are not older. One that is changing is due anyway. */
export async function retryRefused(tx: Tx, connectionId: string, since: Date) {
  await sql`
    with comments as (
      update pull_request_comments c set digest = null from repositories r
       where r.id = c.repository_id and ${connectionOf} = ${connectionId} and c.error is not null and c.updated_at >= ${since}
      returning c.repository_id, c.pull_request_number
    ) update commit_statuses s set version = version + 1 where s.ctid = any(array(
      select s.ctid from commit_statuses s join repositories r on r.id = s.repository_id
       where ${connectionOf} = ${connectionId} and s.created_at >= ${since} and (s.error is not null
         or (s.repository_id, s.pull_request_number) in (select c.repository_id, c.pull_request_number from comments c))
         for update of s skip locked))`.execute(tx)
}

/** What hosts are told. */
export type Reporting = 'status' | 'comment'
type Refusal = { what: Reporting; message: string | null }

/** Stores that the host refuses statuses or comments in a repository, or accepts them again (null); false if that was known. */
export async function setRefusal(db: Db, repositoryId: string, { what, message }: Refusal) {
  const column = `${what}_error` as const
  const { numUpdatedRows } = await db
    .updateTable('repositories')
    .set({ [column]: message })
    .where('id', '=', repositoryId)
    .where(column, message === null ? 'is not' : 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export type PullRequestKey = { repositoryId: string; number: number }

/** Pull requests with due comments at a connection's host, and when their comments were updated last. */
export async function listDueComments(db: Db, connectionId: string) {
  const { rows } = await sql<PullRequestKey & { updatedAt: Date | null }>`
    select s.repository_id as "repositoryId", s.pull_request_number as number, max(c.updated_at) as "updatedAt"
      from commit_statuses s
      join repositories r on r.id = s.repository_id
      left join pull_request_comments c
        on c.repository_id = s.repository_id and c.pull_request_number = s.pull_request_number
     where ${connectionOf} = ${connectionId} and ${isCommentDue}
     group by 1, 2 order by 3 nulls first, 1, 2`.execute(db)
  return rows
}

/** Makes the comment on a pull request due later, apart from reports whose status is due. */
export async function postponeComment(db: Db, { repositoryId, number }: PullRequestKey, until: Date) {
  await sql`update commit_statuses s set due_at = ${until}
    where s.repository_id = ${repositoryId} and s.pull_request_number = ${number} and ${isCommentDue}
      and not ${isStatusDue}`.execute(db)
}

/** The latest report of a kind about a pull request, for each workspace. */
export async function listPullRequestReports(db: Db, { repositoryId, number }: PullRequestKey) {
  const { rows } = await sql<ReportRow>`
    select * from (${selectReports(sql`s.repository_id = ${repositoryId} and s.pull_request_number = ${number}
      and not exists (select from commit_statuses n where n.workspace_id = s.workspace_id and n.kind = s.kind
        and n.repository_id = s.repository_id and n.pull_request_number = s.pull_request_number
        and (n.created_at, n.commit_sha) > (s.created_at, s.commit_sha))`)}) latest
     order by workspace_name, workspace_id, kind`.execute(db)
  return rows
}

/** The versions of a pull request's reports, all of them. */
export async function listCommentVersions(db: Db, { repositoryId, number }: PullRequestKey): Promise<Key[]> {
  return db
    .selectFrom('commit_statuses')
    .select(['workspace_id', 'commit_sha', 'kind', 'version'])
    .where('repository_id', '=', repositoryId)
    .where('pull_request_number', '=', number)
    .execute()
}

/** Records that the comment on their pull request has the versions of reports. One that is changing stays due. */
export async function finishComment(db: Db, versions: readonly Key[]) {
  await sql`
    with versions as (
      select s.ctid, v.version from commit_statuses s
        join jsonb_to_recordset(${JSON.stringify(versions)}::jsonb)
          as v(workspace_id text, commit_sha text, kind text, version integer)
          on v.workspace_id = s.workspace_id and v.commit_sha = s.commit_sha and v.kind = s.kind
         for update of s skip locked
    ) update commit_statuses s set commented_version = versions.version from versions where s.ctid = versions.ctid`.execute(
    db,
  )
}

export async function findComment(db: Db, { repositoryId, number }: PullRequestKey) {
  return db
    .selectFrom('pull_request_comments')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('pull_request_number', '=', number)
    .executeTakeFirst()
}

export type StoredComment = NonNullable<Awaited<ReturnType<typeof findComment>>>

/** Before the first attempt to create the comment. */
export async function insertComment(db: Db, key: PullRequestKey, { marker, now }: { marker: string; now: Date }) {
  await db
    .insertInto('pull_request_comments')
    .values({ repository_id: key.repositoryId, pull_request_number: key.number, marker, updated_at: now })
    .execute()
}

type CommentUpdate = { id?: string | null; digest: string | null; error: string | null; now: Date }

export async function updateComment(db: Db, key: PullRequestKey, { id, digest, error, now }: CommentUpdate) {
  await db
    .updateTable('pull_request_comments')
    .set({ ...(id !== undefined && { comment_id: id }), digest, error, updated_at: now })
    .where('repository_id', '=', key.repositoryId)
    .where('pull_request_number', '=', key.number)
    .execute()
}

/** Deletes the oldest reports of workspaces without a run; returns their number. */
export async function deleteSkipReports(db: Db, before: Date, limit: number) {
  const { numAffectedRows = 0n } = await sql`delete from commit_statuses where ctid = any(array(
    select ctid from commit_statuses where run_id is null and created_at < ${before} limit ${limit}))`.execute(db)
  return Number(numAffectedRows)
}
