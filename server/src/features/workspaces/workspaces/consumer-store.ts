import { sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { selectWorkspacesFor } from './store.ts'

/** One page of the visible workspaces that may read the state of the workspace `id`. */
export async function listConsumers(
  db: Db,
  actor: Actor,
  id: string,
  { limit, offset }: { limit: number; offset: number },
) {
  const consumers = sql<boolean>`w.id in (select c.consumer_id from remote_state_consumers c where c.workspace_id = ${id})
    and ${visibleWorkspace(actor)}`
  const [rows, count] = await Promise.all([
    selectWorkspacesFor(db, actor)
      .where(consumers)
      .orderBy('w.name')
      .orderBy('w.id')
      .limit(limit)
      .offset(offset)
      .execute(),
    db
      .selectFrom('workspaces as w')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where(consumers)
      .executeTakeFirstOrThrow(),
  ])
  return { rows, total: count.total }
}

export async function insertConsumers(db: Db, id: string, consumerIds: readonly string[]) {
  await sql`insert into remote_state_consumers (workspace_id, consumer_id)
    select ${id}, consumer from unnest(${consumerIds}::text[]) as t(consumer) on conflict do nothing`.execute(db)
}

export async function deleteConsumers(db: Db, id: string, consumerIds: readonly string[]) {
  await db
    .deleteFrom('remote_state_consumers')
    .where('workspace_id', '=', id)
    .where(sql<boolean>`consumer_id = any(${consumerIds})`)
    .execute()
}

/** Deletes every consumer that the actor sees. The actor may not remove the others. */
export async function deleteVisibleConsumers(tx: Tx, actor: Actor, id: string) {
  await sql`delete from remote_state_consumers c using workspaces w
    where c.workspace_id = ${id} and w.id = c.consumer_id and ${visibleWorkspace(actor)}`.execute(tx)
}
