import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely'
import type pg from 'pg'
import { wordsOf } from '../server/src/features/runs/runs/message-store.ts'

/*
 * SQL that fills the databases of two compared trees, whose schemas may differ: only tables and columns
 * that exist are written.
 */

const COMPILER = new Kysely<never>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

/** Writable columns of a table; none if it does not exist. */
export async function columnsOf(client: pg.Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
      where attrelid = to_regclass($1) and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  )
  return rows.map(({ name }) => name)
}

/** Inserts a row for each of `from`; `values` has an SQL expression for each column. Existing rows are kept. */
export async function insertFrom(client: pg.Client, table: string, values: Record<string, string>, from: string) {
  const columns = (await columnsOf(client, table)).filter((column) => column in values)
  if (columns.length === 0) return
  await client.query(
    `insert into ${table} (${columns.join(', ')}) select ${columns.map((column) => values[column]).join(', ')} from ${from}
     on conflict do nothing`,
  )
}

/** Assignments of the `values` whose columns the table has; empty if it has none. */
export async function assignmentsOf(client: pg.Client, table: string, values: Record<string, string>) {
  const columns = (await columnsOf(client, table)).filter((column) => column in values)
  return columns.map((column) => `${column} = ${values[column]}`).join(', ')
}

/** Copies of columns that lists filter and sort by, which are maintained apart from the rows, for all rows of an organization. */
export async function insertKeys(client: pg.Client, organizationId: string) {
  await insertFrom(
    client,
    'run_keys',
    {
      run_id: 'r.id',
      workspace_id: 'r.workspace_id',
      organization_id: 'r.organization_id',
      seq: 'r.seq',
      source: 'r.source',
      operations: 'run_operations(r.plan_only, r.save_plan, r.refresh_only, r.is_destroy, r.allow_empty_apply)',
      message: 'r.message',
      words: wordsOf(sql`r.message`).compile(COMPILER).sql,
      created_at: 'r.created_at',
    },
    `runs r where r.organization_id = '${organizationId}'`,
  )
  await insertFrom(
    client,
    'workspace_keys',
    {
      id: 'w.id',
      organization_id: 'w.organization_id',
      project_id: 'w.project_id',
      name: 'w.name',
      engine_version: 'w.engine_version',
      is_locked: 'w.locked_by_type is not null',
      has_drift: 'coalesce(w.has_drift, false)',
      latest_change_at: 'w.latest_change_at',
      current_run_id: 'r.id',
      current_run_created_at: 'r.created_at',
      run_status: 'r.status',
    },
    `workspaces w left join runs r on r.id = w.current_run_id where w.organization_id = '${organizationId}'`,
  )
}
