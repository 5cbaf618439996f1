import { sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'

type AppliedRun = { id: string; workspace_id: string; base_state_version_id: string | null }

/** Fires the outbound triggers of a run's workspace, at most once per run. Returns the ids of the destination workspaces. */
export async function insertFirings(tx: Tx, run: AppliedRun, { now, fireAt }: { now: Date; fireAt: Date }) {
  const { rows } = await sql<{ workspace_id: string }>`
    insert into trigger_firings (source_run_id, before_state_version_id, after_state_version_id, workspace_id, fire_at,
        created_at)
    select ${run.id}, ${run.base_state_version_id}, s.current_state_version_id,
        t.workspace_id, ${fireAt}::timestamptz, ${now}::timestamptz
      from run_triggers t join workspaces s on s.id = t.source_id
     where t.source_id = ${run.workspace_id}
     order by t.seq
    on conflict (source_run_id, workspace_id) do nothing
    returning workspace_id`.execute(tx)
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

export async function updateFired(tx: Tx, ids: readonly WaitingFiring['id'][], run: { runId: string; now: Date }) {
  await tx
    .updateTable('trigger_firings')
    .set({ status: 'fired', run_id: run.runId, decided_at: run.now })
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .execute()
}

/** Ends firings without a run, each for its own reason. */
export async function updateSkipped(
  tx: Tx,
  skipped: readonly { id: WaitingFiring['id']; reason: string }[],
  now: Date,
) {
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
