import { type OperationNodeSource, type RawBuilder, type Selectable, sql } from 'kysely'
import type { Db } from '../db/db.ts'
import type { Schema } from '../db/schema.gen.ts'
import { type Slots, template } from '../db/template.ts'

export type InOrganization = { workspace: string } | { run: string }

/** An event before it is inserted. If it names a workspace or run, the insert looks up the organization. */
export type AuditRow = Omit<Selectable<Schema['audit_events']>, 'organization_id' | 'meta'> & {
  organization: string | null | InOrganization
  meta: string | null
}

const COLUMNS = [
  'id',
  'organization',
  'actor_type',
  'actor_id',
  'actor_name',
  'token_id',
  'action',
  'resource_type',
  'resource_id',
  'meta',
  'request_id',
  'address',
  'user_agent',
  'created_at',
] as const satisfies readonly (keyof AuditRow)[]

type EventInSql = { [Name in (typeof COLUMNS)[number]]: AuditRow[Name] | RawBuilder<unknown> }

/** SQL of an event in a template: `read` takes it from the values of an execution. Its organization is an id. */
export function eventSlots<Values>(slot: Slots<Values>, read: (values: Values) => AuditRow) {
  return Object.fromEntries(COLUMNS.map((name) => [name, slot((values) => read(values)[name])])) as EventInSql
}

/** The insert of an event, as a statement or a part of one. With `from` it inserts one event per row of that relation. */
export function eventInsert(event: EventInSql, from?: RawBuilder<unknown>) {
  return sql<never>`insert into audit_events (
      id, organization_id, actor_type, actor_id, actor_name, token_id, action, resource_type, resource_id, meta,
      request_id, address, user_agent, created_at)
    select ${event.id}, ${organizationOf(event)}, ${event.actor_type}, ${event.actor_id}, ${event.actor_name}, ${event.token_id},
      ${event.action}, ${event.resource_type}, ${event.resource_id}, ${event.meta}::jsonb,
      ${event.request_id}, ${event.address}, ${event.user_agent}, ${event.created_at}::timestamptz
      ${from === undefined ? sql`` : sql`from ${from}`}`
}

function organizationOf({ organization }: EventInSql) {
  if (organization === null || typeof organization === 'string' || 'isRawBuilder' in organization) {
    return sql`${organization}`
  }
  return 'run' in organization
    ? sql`(select organization_id from runs where id = ${organization.run})`
    : sql`(select organization_id from workspaces where id = ${organization.workspace})`
}

const insertWithOrganization = template<AuditRow, never>((_, slot) => eventInsert(eventSlots(slot, (row) => row)))

export function insertEvent(row: AuditRow) {
  const { organization } = row
  return organization === null || typeof organization === 'string' ? insertWithOrganization(row) : eventInsert(row)
}

/** The template of one statement that executes a change, inserts an event for each row that it returns, and returns the rows. */
export function changeWithEvent<Values, Row>(
  build: (db: Db, slot: Slots<Values>) => OperationNodeSource & { readonly expressionType?: Row | undefined },
) {
  return template<{ change: Values; event: AuditRow }, Row>((db, slot) => {
    const change = build(db, (read) => slot((values) => read(values.change)))
    const event = eventSlots(slot, (values) => values.event)
    return sql<Row>`with change as (${change}), event as (${eventInsert(event, sql`change`)}) select * from change`
  })
}
