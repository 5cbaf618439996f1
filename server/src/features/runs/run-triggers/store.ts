import { sql } from 'kysely'
import { accessColumn, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'

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
  const query = selectRunTriggers(db).where(SIDE[type], '=', workspaceId)
  const rows = await query.orderBy('t.seq').limit(page.size).offset(pageOffset(page)).execute()
  const count = db.selectFrom('run_triggers as t').where(SIDE[type], '=', workspaceId)
  const { total } = await count.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { rows, total }
}

/**
 * Locks a workspace against changes of its inbound triggers and returns the ids of its sources; undefined if it was deleted.
 * Two workspaces that become the source of each other do not wait for each other.
 */
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
