import { type Insertable, type Selectable, sql } from 'kysely'
import type { Actor } from '../../auth/actor.ts'
import { factsColumn } from '../../auth/facts.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Schema } from '../../db/schema.gen.ts'

export type WorkspaceRow = Selectable<Schema['workspaces']>

export type WorkspaceKey = { id: string } | { organization: string; name: string }

/** A workspace, what its defaults come from, and the facts about it for `actor`. */
export async function findWorkspace(db: Db, actor: Actor, key: WorkspaceKey) {
  return db
    .selectFrom('workspaces as w')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .innerJoin('projects as p', 'p.id', 'w.project_id')
    .selectAll('w')
    .select([
      'o.name as organization_name',
      'o.plan as organization_plan',
      'o.allow_force_delete_workspaces',
      'o.default_execution_mode as organization_execution_mode',
      'o.default_agent_pool_id as organization_agent_pool_id',
      'p.default_execution_mode as project_execution_mode',
      'p.default_agent_pool_id as project_agent_pool_id',
    ])
    .select(
      factsColumn(actor, {
        organizationId: sql`w.organization_id`,
        projectId: sql`w.project_id`,
        workspaceId: sql`w.id`,
      }).as('facts'),
    )
    .where((eb) =>
      'id' in key
        ? eb('w.id', '=', key.id)
        : eb.and([
            eb(sql`lower(o.name)`, '=', key.organization.toLowerCase()),
            eb(sql`lower(w.name)`, '=', key.name.toLowerCase()),
          ]),
    )
    .executeTakeFirst()
}

/** Takes the row lock that orders everything which changes a workspace's lock, queue or state. */
export async function lockWorkspaceRow(tx: Tx, id: string) {
  return tx.selectFrom('workspaces').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

export async function insertWorkspace(db: Db, row: Insertable<Schema['workspaces']>) {
  return db.insertInto('workspaces').values(row).returningAll().executeTakeFirstOrThrow()
}
