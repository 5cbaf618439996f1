import { sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db } from '../../../db/db.ts'

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

/** The workspaces that the actor may see, by name, each with its current run. */
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

const LINKS = {
  causes: sql`select f.source_run_id from chain join trigger_firings f on f.run_id = chain.id`,
  consequences: sql`select f.run_id from chain join trigger_firings f on f.source_run_id = chain.id
    where f.run_id is not null`,
}

/** The ids of a run and of its direct and indirect causes or consequences, closest first. */
export async function listChainIds(
  db: Db,
  runId: string,
  { side, limit }: { side: keyof typeof LINKS; limit: number },
) {
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
