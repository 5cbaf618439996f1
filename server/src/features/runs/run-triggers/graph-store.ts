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
