import { sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db } from '../../../db/db.ts'

/** The run triggers of an organization, in the order of their creation. */
export async function listTriggersOf(db: Db, organizationId: string, limit: number) {
  return db
    .selectFrom('run_triggers as t')
    .innerJoin('workspaces as w', 'w.id', 't.workspace_id')
    .select(['t.id', 't.workspace_id', 't.source_id'])
    .where('w.organization_id', '=', organizationId)
    .orderBy('t.seq')
    .limit(limit)
    .execute()
}
export type GraphTriggerRow = Awaited<ReturnType<typeof listTriggersOf>>[number]

/** Those of the workspaces that the actor may see, by name, each with its current run. */
export async function listGraphWorkspaces(
  db: Db,
  actor: Actor,
  { ids, seesAll }: { ids: readonly string[]; seesAll: boolean },
) {
  return db
    .selectFrom('workspaces as w')
    .leftJoin('runs as r', 'r.id', 'w.current_run_id')
    .select(['w.id', 'w.name', 'w.auto_apply_run_trigger', 'w.trigger_only_on_output_change', 'w.latest_change_at'])
    .select(['r.id as run_id', 'r.status as run_status', sql<boolean>`w.locked_by_type is not null`.as('locked')])
    .where(sql<boolean>`w.id = any(${ids})`)
    .where(seesAll ? sql<boolean>`true` : visibleWorkspace(actor))
    .orderBy('w.name')
    .orderBy('w.id')
    .execute()
}
export type GraphWorkspaceRow = Awaited<ReturnType<typeof listGraphWorkspaces>>[number]

/** The ids of a run and of the runs that have led to it, the closest first. */
export async function listCauseIds(db: Db, runId: string, limit: number) {
  const { rows } = await sql<{ id: string }>`
    with recursive causes(id) as (
      select ${runId}::text
      union
      select f.source_run_id from causes join trigger_firings f on f.run_id = causes.id)
    select id from causes limit ${limit}`.execute(db)
  return rows.map((row) => row.id)
}

/** The ids of a run and of the runs that it has led to, the closest first. */
export async function listConsequenceIds(db: Db, runId: string, limit: number) {
  const { rows } = await sql<{ id: string }>`
    with recursive consequences(id) as (
      select ${runId}::text
      union
      select f.run_id from consequences join trigger_firings f on f.source_run_id = consequences.id
       where f.run_id is not null)
    select id from consequences limit ${limit}`.execute(db)
  return rows.map((row) => row.id)
}

/** Columns of the runs in a chain. An actor who sees a workspace may read its runs. */
export async function listChainRuns(db: Db, actor: Actor, ids: readonly string[]) {
  return db
    .selectFrom('runs as r')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .select(['r.id', 'r.workspace_id', 'r.status', 'r.message', 'r.trigger_depth', 'r.created_at', 'r.updated_at'])
    .select('w.name as workspace_name')
    .select(visibleWorkspace(actor).as('is_readable'))
    .where(sql<boolean>`r.id = any(${ids})`)
    .orderBy('r.seq')
    .execute()
}
export type ChainRunRow = Awaited<ReturnType<typeof listChainRuns>>[number]

type Sides = { causes: readonly string[]; consequences: readonly string[]; limit: number }

/** The links between the causes, and all that their consequences have fired. */
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
export type ChainFiringRow = Awaited<ReturnType<typeof listChainFirings>>[number]
