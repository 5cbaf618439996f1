import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { RUN_STATUS } from '../contract/src/run-status.ts'
import { migrate } from '../server/src/db/migrate.ts'

const TYPES: Record<string, string> = {
  text: 'string',
  boolean: 'boolean',
  smallint: 'number',
  integer: 'number',
  bigint: 'number',
  'double precision': 'number',
  bytea: 'Buffer',
  jsonb: 'Json',
  'text[]': 'string[]',
  'integer[]': 'number[]',
  'timestamp with time zone': 'Timestamp',
}

const RUN_STATUSES = RUN_STATUS.map((status) => `'${status}'`).join(' | ')

/**
 * Writes the row types of the migrated schema to `server/src/db/schema.gen.ts` (or to the given path), from an empty
 * database at GROUNDSTATE_DATABASE_URL or an embedded one. Unlike published generators, it
 * converts checks that list values, of a column or its domain, into union types, and those of run statuses into `RunStatus`.
 */
const out = process.argv[2] ?? join(import.meta.dirname, '../server/src/db/schema.gen.ts')
const url = process.env['GROUNDSTATE_DATABASE_URL']
if (url === undefined) {
  const { startPostgres } = await import('../server/src/postgres/postgres.ts')
  const dataDir = await mkdtemp(join(tmpdir(), 'groundstate-types-'))
  const postgres = await startPostgres({ dataDir, log: { info() {}, warn: console.warn }, fsync: false })
  try {
    await writeFile(out, await generate(postgres.url))
  } finally {
    await postgres[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
  }
} else {
  await writeFile(out, await generate(url))
}

type Column = { table: string; name: string; type: string; required: boolean; preset: boolean; check: string | null }

async function generate(databaseUrl: string) {
  await migrate(databaseUrl)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<Column>(`
    select t.relname as table, a.attname as name, format_type(coalesce(nullif(ty.typbasetype, 0), ty.oid), null) as type, a.attnotnull as required,
           a.atthasdef or a.attidentity <> '' as preset,
           (select pg_get_constraintdef(c.oid) from pg_constraint c
             where c.contype = 'c' and (c.contypid = ty.oid or c.conrelid = t.oid and c.conkey = array[a.attnum])
               and pg_get_constraintdef(c.oid) like '%= ANY (ARRAY[%' limit 1) as check
      from pg_class t
      join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'public'
      join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
      join pg_type ty on ty.oid = a.atttypid
     where t.relkind in ('r', 'p') and t.relname <> 'schema_migrations'
     order by t.relname, a.attname`)
  await client.end()

  const tables = Map.groupBy(rows, (row) => row.table)
  const bodies = [...tables].map(
    ([table, columns]) =>
      `  ${table}: {\n${columns.map((column) => `    ${column.name}: ${columnType(column)}`).join('\n')}\n  }`,
  )
  return `// Written by \`npm run db:types\` from the migrated schema; not edited by hand.
import type { RunStatus } from '@groundstate/contract/run-status'
import type { ColumnType, Generated } from 'kysely'

/** A JSON column is read as its value and written as text, since the driver would send an array as an SQL array. */
type Json = ColumnType<unknown, string, string>
export type OptionalJson = ColumnType<unknown, string | undefined, string>
type Timestamp = ColumnType<Date, Date | string, Date | string>
export type OptionalTimestamp = ColumnType<Date, Date | string | undefined, Date | string>

export type Schema = {
${bodies.join('\n')}
}
`
}

function columnType({ table, name, type, required, preset, check }: Column) {
  const known = TYPES[type]
  if (known === undefined) throw new Error(`${table}.${name}: unknown type ${type}`)
  const union = check?.match(/'[^']*'(?=::text)/g)?.join(' | ')
  const base = union === RUN_STATUSES ? 'RunStatus' : (union ?? known)
  const withDefault = known === 'Json' || known === 'Timestamp' ? `Optional${known}` : `Generated<${base}>`
  return (preset ? withDefault : base) + (required ? '' : ' | null')
}
