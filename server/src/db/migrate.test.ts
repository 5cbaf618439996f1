import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import { MIGRATIONS } from '../../migrations/list.ts'
import { createTestDatabase, execute } from '../testing/database.ts'
import { migrate, MigrationError } from './migrate.ts'

const LAST = '9998-of-today'
/** The database of a test lacks the last migration, which locks the table of tokens. */
const ONE_MORE = [...MIGRATIONS, { name: LAST, up: 'alter table tokens add column color text' }]

test('an up-to-date database is not changed', async () => {
  await using database = await createTestDatabase()

  expect(await migrate(database.url)).toEqual({ applied: [] })
})

test('an earlier database loses the columns of settings that are refused today', async () => {
  await using database = await createTestDatabase()
  const name = MIGRATIONS.map((migration) => migration.name).find((name) => name.endsWith('-unused-columns'))
  await execute(
    database.url,
    `alter table organizations add assessments_enforced boolean not null default true;
     alter table workspaces add migration_environment text;
     delete from schema_migrations where name = '${name}'`,
  )

  const { applied } = await migrate(database.url)

  const columns = `select from pg_attribute where attname in ('assessments_enforced', 'migration_environment')`
  expect(applied).toEqual([name])
  expect((await execute(database.url, columns)).rows).toEqual([])
})

test('an earlier database knows the providers of other registries in current states', async () => {
  await using database = await createTestDatabase()
  const name = MIGRATIONS.map((migration) => migration.name).find((name) => name.endsWith('-workspace-providers'))
  const of = (address: string) => JSON.stringify({ [`module.a.provider["${address}"].west`]: { terraform_data: 1 } })
  await execute(
    database.url,
    `set session_replication_role = replica;
     insert into workspaces (id, organization_id, project_id, name, created_at, updated_at, latest_change_at, engine_version, current_state_version_id)
     select 'ws-' || n, 'org-1', 'prj-1', 'w' || n, now(), now(), now(), '', 'sv-' || n from generate_series(1, 3) n;
     insert into state_versions (id, workspace_id, revision, status, serial, md5, size, raw_location, created_at, providers)
     values ('sv-1', 'ws-1', 1, 'finalized', 1, '', 1, '', now(), '${of('Tf.Acme.test/acme/cloud')}'),
            ('sv-2', 'ws-2', 1, 'finalized', 1, '', 1, '', now(), '${of('registry.terraform.io/hashicorp/aws')}'),
            ('sv-3', 'ws-3', 2, 'finalized', 2, '', 1, '', now(), null),
            ('sv-4', 'ws-3', 1, 'finalized', 1, '', 1, '', now(), '${of('tf.acme.test/acme/former')}');
     alter table workspaces drop column state_providers;
     drop index variables_sensitive_set_idx;
     delete from schema_migrations where name = '${name}'`,
  )

  const { applied } = await migrate(database.url)

  expect(applied).toEqual([name])
  const { rows } = await execute(database.url, 'select state_providers as providers from workspaces order by id')
  expect(rows).toEqual([{ providers: ['tf.acme.test/acme/cloud'] }, { providers: [] }, { providers: [] }])
})

test('an earlier database gets variable keys that one statement can exchange', async () => {
  await using database = await createTestDatabase()
  const name = MIGRATIONS.map((migration) => migration.name).find((name) => name.endsWith('-variable-keys'))
  await execute(
    database.url,
    `alter table variables drop constraint variables_workspace_key, drop constraint variables_variable_set_key;
     create unique index variables_workspace_key on variables (workspace_id, category, key) where workspace_id is not null;
     create unique index variables_variable_set_key on variables (variable_set_id, category, key)
       where variable_set_id is not null;
     delete from schema_migrations where name = '${name}'`,
  )

  const { applied } = await migrate(database.url)

  const constraints = `select conname from pg_constraint where conrelid = 'variables'::regclass and condeferrable order by 1`
  expect(applied).toEqual([name])
  expect((await execute(database.url, constraints)).rows).toEqual([
    { conname: 'variables_variable_set_key' },
    { conname: 'variables_workspace_key' },
  ])
})

test('servers that start concurrently run each migration once', async () => {
  await using database = await createTestDatabase()
  await execute(database.url, 'drop schema public cascade; create schema public')

  const starts = await Promise.all([migrate(database.url), migrate(database.url), migrate(database.url)])

  expect(starts.flatMap(({ applied }) => applied)).toEqual(MIGRATIONS.map(({ name }) => name))
})

/** Migrations of a newer server; the second removes what servers that do not know the first one use. */
const EXPAND = { name: '9998-of-tomorrow', up: 'alter table tokens add column color text' }
const CONTRACT = { name: '9999-of-next-week', up: 'alter table tokens drop column color', requires: EXPAND.name }

test('a server older than the database starts if no migration removed what it uses', async () => {
  await using database = await createTestDatabase()
  await migrate(database.url, { migrations: [...MIGRATIONS, EXPAND] })

  const { applied } = await migrate(database.url)

  expect(applied).toEqual([])
})

test('a server older than a migration that removed what it uses names it and writes nothing', async () => {
  await using database = await createTestDatabase()
  await migrate(database.url, { migrations: [...MIGRATIONS, EXPAND, CONTRACT] })

  const start = migrate(database.url, { migrations: ONE_MORE })

  await expect(start).rejects.toThrow(MigrationError)
  await expect(start).rejects.toThrow(
    /newer version of Groundstate, .* \(it has 9999-of-next-week\); start that version/,
  )
  const { rows } = await execute(database.url, `select from schema_migrations where name = '${LAST}'`)
  expect(rows).toEqual([])
  await expect(migrate(database.url, { migrations: [...MIGRATIONS, EXPAND] })).resolves.toBeDefined()
})

test('what a running server uses is not removed', async () => {
  await using database = await createTestDatabase()
  const id = '0d5a'
  const session = new pg.Client({ connectionString: database.url, application_name: `groundstate-signals ${id}` })
  await session.connect()
  const migrations = [...MIGRATIONS, EXPAND, CONTRACT]

  const start = async () => migrate(database.url, { migrations })

  await expect(start()).rejects.toThrow(`removes what running servers use: ${id} (an old version); upgrade them`)
  await execute(
    database.url,
    `insert into servers (id, version, role, migration, started_at) values ('${id}', '1.0.0', 'all', '9997-of-today', now())`,
  )
  await expect(start()).rejects.toThrow(`${id} (version 1.0.0)`)
  await execute(database.url, `update servers set migration = '${EXPAND.name}'`)
  await expect(start()).resolves.toEqual({ applied: [CONTRACT.name] })
  await session.end()
})

/** SQL that fails a statement of a server that does not know it; without an index (`_idx`), statements are only slower. */
const CONTRACTING =
  /\bdrop (?:column|table|default|index (?!(?:if exists )?\w+_idx\b))\b|\brename\b|\bset not null\b|\balter column \w+ (?:set data )?type\b|\badd column (?![^,;]*default)[^,;]*not null/i

test('a migration that old servers may not run with names those that it requires', () => {
  const recent = MIGRATIONS.filter(({ name }) => name > '0043')

  const forgotten = recent.filter(({ up, requires }) => requires === undefined && CONTRACTING.test(up))

  expect(forgotten.map(({ name }) => name)).toEqual([])
  const names = MIGRATIONS.map(({ name }) => name)
  for (const { name, requires = name } of recent)
    expect(names.indexOf(requires)).toBeLessThanOrEqual(names.indexOf(name))
})

/** Everything that a start could have created in a database. */
const CONTENTS = `select (select array_agg(c.relname order by c.relname) from pg_class c where c.relnamespace = 'public'::regnamespace) as tables,
  (select array_agg(extname order by extname) from pg_extension) as extensions,
  (select array_agg(name order by name) from schema_migrations) as migrations`

test('a database from before the first release is rejected, with instructions to move its states', async () => {
  await using database = await createTestDatabase()
  await execute(
    database.url,
    `drop schema public cascade; create schema public;
     create table schema_migrations (name text primary key, applied_at timestamptz not null default now());
     insert into schema_migrations (name) values ('0001-accounts'), ('0002-workspaces'), ('0121-workspace-order')`,
  )
  const before = await execute(database.url, CONTENTS)

  const start = migrate(database.url)

  await expect(start).rejects.toThrow(MigrationError)
  await expect(start).rejects.toThrow(
    /created by an earlier version .*0001-accounts.*; .*groundstate state export .*groundstate state import /,
  )
  const after = await execute(database.url, CONTENTS)
  expect(after.rows).toEqual(before.rows)
})

test('without the extension and permission to create it, the start fails with advice', async () => {
  await using database = await createTestDatabase()
  const role = `limited_${randomBytes(8).toString('hex')}`
  await execute(
    database.url,
    `drop extension pg_trgm cascade; create role ${role} login in role pg_write_all_data, pg_read_all_data;
    grant create on schema public to ${role}`,
  )
  const url = new URL(database.url)
  url.username = role

  const start = migrate(url.href)

  await expect(start).rejects.toThrow(MigrationError)
  await expect(start).rejects.toThrow(
    /can't create the extension pg_trgm in .*: permission denied.*; .*create extension pg_trgm/,
  )
  await execute(database.url, `drop owned by ${role}; drop role ${role}`)
})

const BRIEF = { lockTimeoutMs: 20, pauseMs: 5, attempts: 3 }

/** Another connection with a lock that the migration waits for, as a running replica may have. */
async function holdTokens(url: string) {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('begin; lock table tokens in row exclusive mode')
  return { release: () => client.end(), [Symbol.asyncDispose]: () => client.end() }
}

test('a migration that cannot get a lock logs a warning and is retried', async () => {
  await using database = await createTestDatabase()
  await using lock = await holdTokens(database.url)
  const lines: string[] = []
  const warn = (line: string) => {
    lines.push(line)
    void lock.release()
  }

  const { applied } = await migrate(database.url, { migrations: ONE_MORE, warn, ...BRIEF, attempts: 1000 })

  expect(applied).toEqual([LAST])
  expect(lines[0]).toMatch(/^migration 9998-of-today waits for other sessions of the database: .*lock timeout/)
})

test('a migration that never gets its lock fails the start and changes nothing', async () => {
  await using database = await createTestDatabase()
  await using stack = new AsyncDisposableStack()
  stack.use(await holdTokens(database.url))
  const lines: string[] = []

  const start = migrate(database.url, { migrations: ONE_MORE, warn: (line) => lines.push(line), ...BRIEF })

  await expect(start).rejects.toThrow(MigrationError)
  await expect(start).rejects.toThrow(/migration 9998-of-today failed 3 times: .*lock timeout/)
  expect(lines).toHaveLength(2)
  const { rows } = await execute(database.url, `select from schema_migrations where name = '${LAST}'`)
  expect(rows).toEqual([])
})

test('a migration that loses a deadlock is retried', async () => {
  await using database = await createTestDatabase()
  // A rollback does not reset a sequence, so the second attempt succeeds.
  await execute(
    database.url,
    `create sequence attempts;
     create function lose() returns trigger language plpgsql as $$ begin
       if nextval('attempts') = 1 then raise exception 'deadlock detected' using errcode = '40P01'; end if;
       return new;
     end $$;
     create trigger lose before insert on schema_migrations for each row execute function lose()`,
  )
  const lines: string[] = []

  const { applied } = await migrate(database.url, { migrations: ONE_MORE, warn: (line) => lines.push(line), ...BRIEF })

  expect(applied).toEqual([LAST])
  expect(lines).toHaveLength(1)
})

test('a batched migration is repeated until it changes no row', async () => {
  await using database = await createTestDatabase()
  await execute(
    database.url,
    'create table notes (id int, is_done bool); insert into notes select generate_series(1, 5)',
  )
  const up = 'update notes set is_done = true where id in (select id from notes where is_done is null limit 2)'

  await migrate(database.url, { migrations: [...MIGRATIONS, { name: LAST, up, isBatched: true }] })

  const { rows } = await execute(database.url, 'select from notes where is_done')
  expect(rows).toHaveLength(5)
})
