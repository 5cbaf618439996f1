import { type Compilable, type Insertable, type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/db.ts'
import type { Schema } from '../db/schema.gen.ts'

/** A workspace or run whose organization the event belongs to. */
export type InOrganization = { workspace: string } | { run: string }

/** An event before it is inserted. When it names a workspace or run, the insert looks up the organization. */
export type AuditRow = Omit<Insertable<Schema['audit_events']>, 'organization_id' | 'meta'> & {
  organization: string | null | InOrganization
  meta: string | null
}

/** The insert of an event, as a statement or a part of one. With `from` it inserts one event for each row of that. */
export function eventInsert(row: AuditRow, from?: RawBuilder<unknown>) {
  return sql<never>`insert into audit_events (
      id, organization_id, actor_type, actor_id, actor_name, token_id, action, resource_type, resource_id, meta,
      request_id, address, user_agent, created_at)
    select ${row.id}, ${organizationOf(row)}, ${row.actor_type}, ${row.actor_id}, ${row.actor_name}, ${row.token_id},
      ${row.action}, ${row.resource_type}, ${row.resource_id}, ${row.meta}::jsonb,
      ${row.request_id}, ${row.address}, ${row.user_agent}, ${row.created_at}::timestamptz
      ${from === undefined ? sql`` : sql`from ${from}`}`
}

function organizationOf({ organization }: AuditRow) {
  if (organization === null || typeof organization === 'string') return sql`${organization}`
  return 'run' in organization
    ? sql`(select organization_id from runs where id = ${organization.run})`
    : sql`(select organization_id from workspaces where id = ${organization.workspace})`
}

export async function changeWithEvent<T>(db: Db, row: AuditRow, change: Compilable<T> & OperationNodeSource) {
  const { rows } = await sql<T>`with change as (${change}), event as (${eventInsert(row, sql`change`)})
    select * from change`.execute(db)
  return rows
}
