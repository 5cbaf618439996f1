import { sql } from 'kysely'
import { shareAccess } from '../../../auth/access-context.ts'
import { accessColumn, sharedAccessColumn, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, type Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import { containing } from '../../../db/sql.ts'

/** Run triggers `t` with their destination `w` and their source `s`. */
function selectRunTriggers(db: Db) {
  return db
    .selectFrom('run_triggers as t')
    .innerJoin('workspaces as w', 'w.id', 't.workspace_id')
    .innerJoin('workspaces as s', 's.id', 't.source_id')
    .selectAll('t')
    .select(['w.name as workspace_name', 's.name as source_name', 'w.organization_id'])
}
export type RunTriggerRow = Awaited<ReturnType<ReturnType<typeof selectRunTriggers>['execute']>>[number]

/** A run trigger with the actor's access to its destination and its source. */
export async function findRunTrigger(db: Db, actor: Actor, id: string) {
  const source = { organizationId: sql`s.organization_id`, projectId: sql`s.project_id`, workspaceId: sql`s.id` }
  return selectRunTriggers(db)
    .select([workspaceAccessColumn(actor).as('access'), accessColumn(actor, source).as('source_access')])
    .where('t.id', '=', id)
    .executeTakeFirst()
}

const SIDE = { inbound: 't.workspace_id', outbound: 't.source_id' } as const
type TriggerList = { workspaceId: string; type: keyof typeof SIDE; page: Page }

/** A page of the inbound or outbound triggers of a workspace, in order of creation. */
export async function listRunTriggers(db: Db, { workspaceId, type, page }: TriggerList) {
  const list = selectRunTriggers(db).where(SIDE[type], '=', workspaceId).orderBy('t.seq')
  return readPaged(page, list, db.selectFrom('run_triggers as t').where(SIDE[type], '=', workspaceId))
}

type OrganizationTriggers = {
  organizationId: string
  /** The actor sees all workspaces of the organization. */
  seesAll: boolean
  /** Part of the name of the source or the destination. */
  q: string | undefined
  projectId: string | undefined
  sort: { name: 'source' | 'destination' | 'last-fired-at'; descending: boolean }
  page: Page
}

/** A page of an organization's triggers between workspaces that the actor may see, with its access to the destination. */
export async function listOrganizationTriggers(db: Db, actor: Actor, list: OrganizationTriggers) {
  const { organizationId, seesAll, q, projectId, sort, page } = list
  const name = q === undefined ? '' : containing(q)
  // A source triggers runs of its own organization only. The join of the destination is left out by the database if nothing reads it.
  const all = db
    .selectFrom('run_triggers as t')
    .innerJoin('workspaces as s', 's.id', 't.source_id')
    .leftJoin('workspaces as w', 'w.id', 't.workspace_id')
    .where('s.organization_id', '=', organizationId)
    .$if(!seesAll, (query) =>
      query
        .where(visibleWorkspace(actor))
        .where(sql<boolean>`exists (select from workspaces w where w.id = t.source_id and ${visibleWorkspace(actor)})`),
    )
    .$if(q !== undefined, (query) => query.where(sql<boolean>`(s.name ilike ${name} or w.name ilike ${name})`))
    .$if(projectId !== undefined, (query) => query.where(sql<boolean>`${projectId} in (s.project_id, w.project_id)`))
  const sorted = all
    .select('t.id')
    .orderBy(ORDERS[sort.name][sort.descending ? 'desc' : 'asc'])
    .orderBy('t.seq')
  const { rows: listed, total } = await readPaged(page, sorted, all)
  // Read for the page only: the access of a user in many teams is slow to compute.
  const rows = await selectRunTriggers(db)
    .select(sharedAccessColumn(actor).as('access'))
    .where(sql<boolean>`t.id = any(${listed.map(({ id }) => id)})`)
    .execute()
  const byId = new Map(shareAccess(rows).map((row) => [row.id, row]))
  return { rows: listed.flatMap(({ id }) => byId.get(id) ?? []), total }
}

/** The indexes of names have no order of nulls. */
const ORDERS = {
  source: { asc: sql`s.name`, desc: sql`s.name desc` },
  destination: { asc: sql`w.name`, desc: sql`w.name desc` },
  'last-fired-at': { asc: sql`t.last_fired_at nulls first`, desc: sql`t.last_fired_at desc nulls last` },
}

/** Locks the inbound triggers of a workspace and returns its source ids; undefined if deleted. Workspaces that trigger each other do not deadlock. */
export async function lockSources(tx: Tx, workspaceId: string): Promise<ReadonlySet<string> | undefined> {
  const workspace = tx.selectFrom('workspaces').select('id').where('id', '=', workspaceId).forNoKeyUpdate()
  if (!(await workspace.executeTakeFirst())) return undefined
  const rows = await tx.selectFrom('run_triggers').select('source_id').where('workspace_id', '=', workspaceId).execute()
  return new Set(rows.map((row) => row.source_id))
}

type NewTrigger = { id: string; workspaceId: string; sourceId: string; now: Date }

/** Inserts a trigger; undefined if the source was just deleted. */
export async function insertRunTrigger(tx: Tx, { id, workspaceId, sourceId, now }: NewTrigger) {
  const { rows } = await sql`insert into run_triggers (id, workspace_id, source_id, created_at)
    select ${id}, ${workspaceId}, s.id, ${now}::timestamptz from workspaces s where s.id = ${sourceId} for key share
    returning id`.execute(tx)
  return rows.length === 0 ? undefined : selectRunTriggers(tx).where('t.id', '=', id).executeTakeFirst()
}

/** Returns whether the trigger still existed. */
export async function deleteRunTrigger(tx: Tx, id: string) {
  const { numDeletedRows } = await tx.deleteFrom('run_triggers').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

type AppliedRun = { id: string; workspace_id: string; base_state_version_id: string | null }

/** Fires the outbound triggers of a run's workspace, at most once per run. Returns the ids of the destination workspaces. */
export async function insertFirings(tx: Tx, run: AppliedRun, { now, fireAt }: { now: Date; fireAt: Date }) {
  const { rows } = await sql<{ workspace_id: string }>`with fired as (
      insert into trigger_firings (source_run_id, before_state_version_id, after_state_version_id, workspace_id, fire_at,
          created_at)
      select ${run.id}, ${run.base_state_version_id}, s.current_state_version_id,
          t.workspace_id, ${fireAt}::timestamptz, ${now}::timestamptz
        from run_triggers t join workspaces s on s.id = t.source_id
       where t.source_id = ${run.workspace_id}
       order by t.seq
      on conflict (source_run_id, workspace_id) do nothing
      returning workspace_id),
    marked as (
      update run_triggers t set last_fired_at = ${now}::timestamptz
        from fired where t.source_id = ${run.workspace_id} and t.workspace_id = fired.workspace_id)
    select workspace_id from fired`.execute(tx)
  return rows.map((row) => row.workspace_id)
}

/** The waiting firings of a destination workspace, oldest first. */
export async function listWaitingFirings(db: Db, workspaceId: string) {
  return selectWaiting(db, workspaceId).execute()
}

export async function lockWaitingFirings(tx: Tx, workspaceId: string) {
  return selectWaiting(tx, workspaceId).forNoKeyUpdate('f').execute()
}

function selectWaiting(db: Db, workspaceId: string) {
  return db
    .selectFrom('trigger_firings as f')
    .innerJoin('runs as r', 'r.id', 'f.source_run_id')
    .innerJoin('workspaces as s', 's.id', 'r.workspace_id')
    .select(['f.id', 'f.source_run_id', 'f.before_state_version_id', 'f.after_state_version_id'])
    .select(['r.trigger_depth as source_depth', 's.id as source_id', 's.name as source_name'])
    .where('f.workspace_id', '=', workspaceId)
    .where('f.status', '=', sql.lit('waiting' as const))
    .orderBy('f.id')
}
export type WaitingFiring = Awaited<ReturnType<typeof listWaitingFirings>>[number]

/** The workspaces for which firings of a source wait, except deleted ones. */
export async function listWaitingDestinations(db: Db, sourceId: string) {
  const { rows } = await sql<{ workspace_id: string }>`
    select distinct f.workspace_id
      from trigger_firings f join runs r on r.id = f.source_run_id join workspaces w on w.id = f.workspace_id
     where f.status = 'waiting' and r.workspace_id = ${sourceId}`.execute(db)
  return rows.map((row) => row.workspace_id)
}

export async function updateFired(tx: Tx, ids: readonly WaitingFiring['id'][], run: { runId: string; now: Date }) {
  await tx
    .updateTable('trigger_firings')
    .set({ status: 'fired', run_id: run.runId, decided_at: run.now })
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .execute()
}

type Skipped = { id: WaitingFiring['id']; reason: string }

export async function updateSkipped(tx: Tx, skipped: readonly Skipped[], now: Date) {
  await sql`update trigger_firings f set status = 'skipped', reason = s.reason, decided_at = ${now}::timestamptz
      from unnest(${skipped.map(({ id }) => id)}::bigint[], ${skipped.map(({ reason }) => reason)}::text[]) s (id, reason)
     where f.id = s.id and f.status = 'waiting'`.execute(tx)
}

/** Workspaces with a firing that has been due since before `before`: its job was lost. */
export async function listOverdueWorkspaces(db: Db, { before, limit }: { before: Date; limit: number }) {
  const { rows } = await sql<{ workspace_id: string }>`
    select distinct workspace_id from (
      select workspace_id from trigger_firings where status = 'waiting' and fire_at < ${before} order by fire_at limit ${limit}
    ) overdue`.execute(db)
  return rows.map((row) => row.workspace_id)
}

/** The newest plan of a workspace's current configuration, and the archive of that configuration. */
export async function findLastPlan(db: Db, workspaceId: string) {
  return db
    .selectFrom('workspaces as w')
    .innerJoin('configuration_versions as v', 'v.id', 'w.current_configuration_version_id')
    .innerJoin('runs as r', 'r.configuration_version_id', 'v.id')
    .innerJoin('phases as p', (join) => join.onRef('p.run_id', '=', 'r.id').on('p.kind', '=', 'plan'))
    .select(['r.id as run_id', 'p.job_id', 'v.blob_key', 'v.size'])
    .where('w.id', '=', workspaceId)
    .where('p.status', '=', 'finished')
    .orderBy('r.seq', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export async function listTriggersOf(db: Db, organizationId: string, limit: number) {
  return db
    .selectFrom('run_triggers as t')
    .innerJoin('workspaces as w', 'w.id', 't.workspace_id')
    .select(['t.id', 't.workspace_id', 't.source_id', 't.last_fired_at'])
    .where('w.organization_id', '=', organizationId)
    .orderBy('t.seq')
    .limit(limit)
    .execute()
}

type Visible = { ids: readonly string[]; seesAll: boolean }

/** The workspaces that the actor may see, by name, each with its current run. */
export async function listGraphWorkspaces(db: Db, actor: Actor, { ids, seesAll }: Visible) {
  return db
    .selectFrom('workspaces as w')
    .innerJoin('projects as p', 'p.id', 'w.project_id')
    .leftJoin('runs as r', 'r.id', 'w.current_run_id')
    .select([
      'w.id',
      'w.name',
      'w.project_id',
      'p.name as project_name',
      'w.auto_apply_run_trigger',
      'w.trigger_only_on_output_change',
      'w.latest_change_at',
    ])
    .select(['r.id as run_id', 'r.status as run_status', sql<boolean>`w.locked_by_type is not null`.as('locked')])
    .where(sql<boolean>`w.id = any(${ids})`)
    .where(seesAll ? sql<boolean>`true` : visibleWorkspace(actor))
    .orderBy('w.name')
    .orderBy('w.id')
    .execute()
}

const LINKS = {
  causes: sql`select f.source_run_id from chain join trigger_firings f on f.run_id = chain.id`,
  consequences: sql`select f.run_id from chain join trigger_firings f on f.source_run_id = chain.id
    where f.run_id is not null`,
}

type ChainSide = { side: keyof typeof LINKS; limit: number }

/** The ids of a run and of its direct and indirect causes or consequences, closest first. */
export async function listChainIds(db: Db, runId: string, { side, limit }: ChainSide) {
  const { rows } = await sql<{ id: string }>`
    with recursive chain(id) as (select ${runId}::text union ${LINKS[side]})
    select id from chain limit ${limit}`.execute(db)
  return rows.map((row) => row.id)
}

/** Columns of the runs in a chain. An actor who sees a workspace may read its runs. */
export async function listChainRuns(db: Db, actor: Actor, ids: readonly string[]) {
  return db
    .selectFrom('runs as r')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .select(['r.id', 'r.workspace_id', 'r.status', 'r.message', 'r.trigger_depth', 'r.created_at', 'r.updated_at'])
    .select(['w.name as workspace_name', visibleWorkspace(actor).as('is_readable')])
    .where(sql<boolean>`r.id = any(${ids})`)
    .orderBy('r.seq')
    .execute()
}

type Sides = { causes: readonly string[]; consequences: readonly string[]; limit: number }

/** The firings between the causes, and all firings of the consequences. */
export async function listChainFirings(db: Db, actor: Actor, { causes, consequences, limit }: Sides) {
  return db
    .selectFrom('trigger_firings as f')
    .leftJoin('workspaces as w', 'w.id', 'f.workspace_id')
    .select(['f.source_run_id', 'f.run_id', 'f.workspace_id', 'f.status', 'f.reason'])
    .select(['f.created_at', 'f.fire_at', 'f.decided_at', 'w.name as workspace_name'])
    .select(sql<boolean>`(w.id is null or ${visibleWorkspace(actor)})`.as('is_readable'))
    .where(
      sql<boolean>`(f.source_run_id = any(${causes}) and f.run_id = any(${causes})
        or f.source_run_id = any(${consequences}) and (f.run_id is null or f.run_id = any(${consequences})))`,
    )
    .orderBy('f.id')
    .limit(limit)
    .execute()
}
