import type { DELIVERY_STATUSES } from '@groundstate/contract/vcs-deliveries'
import { type Selectable, sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import { deferWrite } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type NewRow, insertRows } from '../../../db/sql.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { isUnfinished } from '../../runs/runs/filter-store.ts'
import { type RepositoryRow, selectRepositories } from '../git/store.ts'

type Decided = Pick<Selectable<Schema['vcs_decisions']>, 'workspace_id' | 'decision' | 'reason' | 'detail'>

/** A workspace of a repository, with what it follows (`WorkspaceRule`). */
export type RuleRow = Awaited<ReturnType<typeof listRules>>[number]

/** The workspaces of a repository that a delivery has not decided about yet, for a job that runs again. */
export async function listRules(db: Db, { repositoryId, deliveryId }: { repositoryId: string; deliveryId: string }) {
  return db
    .selectFrom('workspaces as w')
    .innerJoin('projects as p', 'p.id', 'w.project_id')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .innerJoin('repositories as r', 'r.id', 'w.repository_id')
    .leftJoin('oauth_tokens as t', 't.id', 'r.oauth_token_id')
    .leftJoin('oauth_clients as c', 'c.id', 't.oauth_client_id')
    .select(['w.id', 'w.vcs_tags_regex', 'w.file_triggers_enabled', 'w.trigger_prefixes', 'w.trigger_patterns'])
    .select(['w.working_directory', 'w.queue_all_runs', 'w.speculative_enabled', 'w.latest_run_id'])
    .select((eb) => eb.fn.coalesce('w.vcs_branch', 'r.default_branch').as('branch'))
    .select((eb) =>
      eb.fn.coalesce('w.execution_mode', 'p.default_execution_mode', 'o.default_execution_mode').as('mode'),
    )
    .select(
      sql<boolean>`coalesce(c.organization_scoped, true) or exists (select from oauth_client_projects s
      where s.oauth_client_id = c.id and s.project_id = w.project_id)`.as('is_in_scope'),
    )
    .select(sql<boolean>`coalesce(c.fork_plans_enabled, false)`.as('plans_forks'))
    .where('w.repository_id', '=', repositoryId)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('vcs_decisions as x')
            .select('x.workspace_id')
            .where('x.delivery_id', '=', deliveryId)
            .whereRef('x.workspace_id', '=', 'w.id'),
        ),
      ),
    )
    .orderBy('w.id')
    .execute()
}

/** Inserts decisions; those of an earlier attempt stay. */
export async function insertDecisions(
  db: Db,
  deliveryId: string,
  decisions: readonly (Decided & { run_id?: string | null })[],
) {
  if (decisions.length === 0) return
  const rows = decisions.map((decision) => ({ run_id: null, ...decision, delivery_id: deliveryId }))
  await insertRows(db, 'vcs_decisions', rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

type CommitKey = { sha: string; kind: 'run' | 'plan' }

/**
 * Reserves a commit for one run of each workspace. Returns the workspaces where it had none. Concurrent transactions are waited for, in the
 * order of the ids.
 */
export async function reserveCommit(tx: Tx, { sha, kind }: CommitKey, workspaceIds: readonly string[]) {
  const rows = workspaceIds.map((id) => ({ workspace_id: id, commit_sha: sha, kind, run_id: null }))
  const reserved = await insertRows(tx, 'vcs_commit_runs', rows)
    .onConflict((conflict) => conflict.doNothing())
    .returning('workspace_id')
    .execute()
  return new Set(reserved.map((row) => row.workspace_id))
}

/** Names the run of a reserved commit in each workspace, with the next statement. */
export async function setCommitRuns(tx: Tx, { sha, kind }: CommitKey, runs: ReadonlyMap<string, string>) {
  const [workspaceIds, runIds] = [[...runs.keys()], [...runs.values()]]
  await deferWrite(
    tx,
    sql`update vcs_commit_runs c set run_id = r.run_id
      from unnest(${workspaceIds}::text[], ${runIds}::text[]) as r(workspace_id, run_id)
     where c.workspace_id = r.workspace_id and c.commit_sha = ${sha} and c.kind = ${kind}`,
  )
}

/** Lets the commit of a run have another one. */
export async function releaseCommit(tx: Tx, runId: string) {
  await tx.deleteFrom('vcs_commit_runs').where('run_id', '=', runId).execute()
}

/** Ends a pending delivery: decided, or failed for the reason of the message. False if it is not pending. */
export async function endDelivery(tx: Tx, id: string, { message, now }: { message: string | null; now: Date }) {
  const { numUpdatedRows } = await tx
    .updateTable('vcs_deliveries')
    .set({ status: message === null ? 'decided' : 'failed', message, decided_at: now })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

type PlansFilter = { repositoryId: string; number: number; workspaceIds: readonly string[]; exceptSha: string | null }

/** Unfinished plans of a pull request that the server started, in organizations that have outdated ones canceled. */
export async function listUnfinishedPlans(db: Db, { repositoryId, number, workspaceIds, exceptSha }: PlansFilter) {
  return db
    .selectFrom('ingress_attributes as c')
    .innerJoin('runs as r', 'r.ingress_attributes_id', 'c.id')
    .innerJoin('organizations as o', 'o.id', 'r.organization_id')
    .select(['r.id', 'r.workspace_id'])
    .where('c.repository_id', '=', repositoryId)
    .where('c.pull_request_number', '=', number)
    .where('c.commit_sha', 'is distinct from', exceptSha)
    .where(sql<boolean>`r.workspace_id = any(${workspaceIds})`)
    .where('r.plan_only', '=', true)
    .where('r.created_by_user_id', 'is', null)
    .where(isUnfinished)
    .where('o.speculative_plan_management_enabled', '=', true)
    .orderBy('r.seq')
    .execute()
}

/** Why a pending delivery is not decided yet. */
export async function setPendingMessage(db: Db, id: string, message: string) {
  const pending = db.updateTable('vcs_deliveries').where('id', '=', id).where('status', '=', 'pending')
  await pending.set({ message }).execute()
}

/** Completes an event with what the host says about it. */
export async function setEvent(db: Db, id: string, event: HostEvent) {
  await db
    .updateTable('vcs_deliveries')
    .set({ event: JSON.stringify(event) })
    .where('id', '=', id)
    .execute()
}

/**
 * The first pending delivery about the same branch, tag or pull request as `id`: they are decided in order, since the run of an older commit
 * must not follow that of a newer one. Waits for a transaction that ends it, which may not see `id`.
 */
export async function findFirstPending(db: Db, id: string): Promise<string | undefined> {
  const subject = (row: string) =>
    sql.raw(
      `(${row}.event->>'kind', coalesce(${row}.event->>'branch', ${row}.event->>'tag', ${row}.event#>>'{pullRequest,number}'))`,
    )
  const { rows } = await sql<{ id: string }>`
    select d.id from vcs_deliveries d join vcs_deliveries own on own.id = ${id} and own.repository_id = d.repository_id
     where d.status = 'pending' and ${subject('d')} = ${subject('own')}
     order by d.received_at, d.id limit 1 for share of d`.execute(db)
  return rows[0]?.id
}

const MAX_STALLED = 1000

/** Pending deliveries that were received before a time, oldest first; not all of very many. */
export async function listPendingSince(db: Db, before: Date): Promise<string[]> {
  const pending = db
    .selectFrom('vcs_deliveries')
    .select('id')
    .where('status', '=', sql.lit('pending' as const))
  const rows = await pending.where('received_at', '<', before).orderBy('received_at').limit(MAX_STALLED).execute()
  return rows.map(({ id }) => id)
}

/** The repository of a webhook's URL, with its kind of host. */
export async function findWebhookRepository(db: Db, webhookPath: string): Promise<RepositoryRow | undefined> {
  return selectRepositories(db).where('r.webhook_path', '=', webhookPath).executeTakeFirst()
}

/** The repositories of all organizations that use one through an installation of the GitHub App. */
export async function listInstallationRepositories(
  db: Db,
  { installationId, httpUrl, identifier }: { installationId: number; httpUrl: string; identifier: string },
): Promise<RepositoryRow[]> {
  return selectRepositories(db)
    .where('i.installation_id', '=', installationId)
    .where('i.http_url', '=', httpUrl)
    .where(sql<boolean>`lower(r.identifier) = lower(${identifier})`)
    .orderBy('r.id')
    .execute()
}

/** Inserts deliveries; returns the ids of the new ones: a host that got no response sends the same one again. */
export async function insertDeliveries(tx: Tx, rows: readonly NewRow<'vcs_deliveries'>[]): Promise<string[]> {
  const inserted = await insertRows(tx, 'vcs_deliveries', rows)
    .onConflict((conflict) => conflict.columns(['repository_id', 'delivery_key']).doNothing())
    .returning('id')
    .execute()
  return inserted.map(({ id }) => id)
}

export type DeliveryRow = Omit<Selectable<Schema['vcs_deliveries']>, 'event'> & {
  event: HostEvent | null
  oauth_client_id: string | null
  run_count: number
  publication_count: number
  skip_count: number
}

function selectDeliveries(db: Db) {
  const counted = (condition: string) =>
    sql<number>`(select count(*) from vcs_decisions x where x.delivery_id = d.id and x.decision ${sql.raw(condition)})`
  return db
    .selectFrom('vcs_deliveries as d')
    .leftJoin('repositories as r', 'r.id', 'd.repository_id')
    .leftJoin('oauth_tokens as t', 't.id', 'r.oauth_token_id')
    .selectAll('d')
    .select('t.oauth_client_id')
    .select([counted(`<> 'skip'`).as('run_count'), counted(`= 'skip'`).as('skip_count')])
    .select(
      sql<number>`(select count(*) from vcs_publications p where p.delivery_id = d.id and p.status = 'published')`.as(
        'publication_count',
      ),
    )
    .$castTo<DeliveryRow>()
}

export async function findDelivery(db: Db, id: string): Promise<DeliveryRow | undefined> {
  return selectDeliveries(db).where('d.id', '=', id).executeTakeFirst()
}

/** SQL condition: a workspace that the actor may see uses the repository of the delivery `d`. */
function isUsedVisibly(actor: Actor) {
  return sql<boolean>`exists (select from workspaces w where w.repository_id = d.repository_id and ${visibleWorkspace(actor)})`
}

export async function findDeliveries(db: Db, actor: Actor, ids: readonly string[]) {
  if (ids.length === 0) return []
  return selectDeliveries(db)
    .select(isUsedVisibly(actor).as('is_visible'))
    .$castTo<DeliveryRow & { is_visible: boolean }>()
    .where(sql<boolean>`d.id = any(${ids})`)
    .orderBy('d.id')
    .execute()
}

export type DeliveryFilter = {
  status: (typeof DELIVERY_STATUSES)[number] | undefined
  clientId: string | undefined
  identifier: string | undefined
}

type ListDeliveries = {
  organizationId: string
  /** Only what this actor may see by its workspaces; undefined for all. */
  seenBy: Actor | undefined
  filter: DeliveryFilter
  page: Page
}

export async function listDeliveries(db: Db, { organizationId, seenBy, filter, page }: ListDeliveries) {
  const conditions = [sql<boolean>`d.organization_id = ${organizationId}`]
  if (seenBy) conditions.push(isUsedVisibly(seenBy))
  if (filter.status !== undefined) conditions.push(sql`d.status = ${filter.status}`)
  if (filter.clientId !== undefined) {
    conditions.push(sql`d.repository_id in (select x.id from repositories x join oauth_tokens y on y.id = x.oauth_token_id
      where y.oauth_client_id = ${filter.clientId})`)
  }
  if (filter.identifier !== undefined) {
    conditions.push(sql`d.repository_identifier = ${filter.identifier}`)
  }
  const where = sql<boolean>`${sql.join(conditions, sql` and `)}`
  const list = selectDeliveries(db).where(where).orderBy('d.received_at', 'desc').orderBy('d.id', 'desc')
  return readPaged(page, list, db.selectFrom('vcs_deliveries as d').where(where))
}

export type DecisionRow = Selectable<Schema['vcs_decisions']> & { workspace_name: string }

/** The decisions of a delivery about workspaces that the actor may see. */
export async function listDecisions(db: Db, actor: Actor, { deliveryId, page }: { deliveryId: string; page: Page }) {
  const of = sql`from vcs_decisions x join workspaces w on w.id = x.workspace_id
    where x.delivery_id = ${deliveryId} and ${visibleWorkspace(actor)}`
  const [list, count] = await Promise.all([
    sql<DecisionRow>`select x.*, w.name as workspace_name ${of}
      order by (x.decision = 'skip'), w.name, w.id limit ${page.size} offset ${pageOffset(page)}`.execute(db),
    sql<{ total: number }>`select count(*) as total ${of}`.execute(db),
  ])
  return { rows: list.rows, total: count.rows[0]?.total ?? 0 }
}

/** The newest decisions about a workspace, each with the delivery that it belongs to. */
export async function listWorkspaceDecisions(db: Db, { workspaceId, page }: { workspaceId: string; page: Page }) {
  const all = db
    .selectFrom('vcs_decisions as x')
    .innerJoin('vcs_deliveries as d', 'd.id', 'x.delivery_id')
    .innerJoin('workspaces as w', 'w.id', 'x.workspace_id')
    .where('x.workspace_id', '=', workspaceId)
  const list = all
    .selectAll('x')
    .select('w.name as workspace_name')
    .orderBy('d.received_at', 'desc')
    .orderBy('d.id', 'desc')
  return readPaged(page, list, all)
}

export async function deleteDeliveries(db: Db, { before, limit }: { before: Date; limit: number }) {
  const { numAffectedRows } = await sql`
    delete from vcs_deliveries where id in (
      select id from vcs_deliveries where received_at < ${before} and status <> 'pending'
       order by received_at, id limit ${limit} for update skip locked)`.execute(db)
  return Number(numAffectedRows ?? 0)
}

export async function deleteUnusedCommits(db: Db, { before, limit }: { before: Date; limit: number }) {
  const { numAffectedRows } = await sql`
    delete from ingress_attributes where id = any(array(
      select i.id from ingress_attributes i
       where i.created_at < ${before}
         and not exists (select from configuration_versions v where v.ingress_attributes_id = i.id)
         and not exists (select from runs r where r.ingress_attributes_id = i.id)
       limit ${limit}))`.execute(db)
  return Number(numAffectedRows ?? 0)
}
