import { FINAL_STATUSES, RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import pg from 'pg'
import { findPostgres } from '../server/src/postgres/postgres.ts'
import { configurationArchive, prepareWorkspace, timeRun } from './runs.ts'
import { assignmentsOf, columnsOf, insertFrom, insertKeys } from './seed-sql.ts'
import { type Target, api } from './target.ts'

/** The first organization has most data, and its first workspace a fifth of all runs. */
const MILLION: Size = {
  organizations: [
    { name: 'vast', workspaces: 16_000, runs: 800_000, busiest: 200_000 },
    ...['north', 'south', 'east', 'west'].map((name) => ({ name, workspaces: 1_000, runs: 50_000, busiest: 0 })),
  ],
  auditEvents: 1_000_000,
}
const PEOPLE = 40
const PROJECTS = 50

/** Filled by one statement each, with indexes created afterwards: updating each index per row would cost as much as the row. */
const TABLES = ['runs', 'run_keys', 'phases', 'run_events', 'audit_events', 'workspaces', 'tag_bindings']

/** The first organization is called `vast`; `busiest` is the number of runs of its first workspace. */
export type Size = {
  organizations: readonly { name: string; workspaces: number; runs: number; busiest: number }[]
  auditEvents: number
}

/** Names and ids for the queries. */
export type Million = { organization: string; workspaceId: string; runId: string; member: string }

/**
 * Fills the target's database, by default with a million runs. The server creates one of each resource, with a real run of the engine, and SQL
 * copies them. Triggers are off, since some would signal each row to open pages; the columns that they maintain are written explicitly.
 */
export async function seedMillion(target: Target, { organizations, auditEvents } = MILLION): Promise<Million> {
  const model = await createModel(target)
  const member = await createMember(target)
  for (const { name } of organizations) await createOrganization(target, name)
  await using postgres = await findPostgres(target.dataDir)
  const client = new pg.Client(postgres.url)
  await client.connect()
  try {
    await client.query(`set session_replication_role = replica; set maintenance_work_mem = '512MB'; set work_mem = '128MB';
      set synchronous_commit = off`)
    const indexes = await dropIndexes(client)
    for (const organization of organizations) await seedOrganization(client, { ...organization, model })
    await seedAudit(client, auditEvents)
    for (const index of indexes) await client.query(index)
    await grantToMember(client, member.id)
    await client.query('vacuum analyze')
    return { organization: 'vast', workspaceId: 'ws-vast1', runId: 'run-vast4321', member: member.token }
  } finally {
    await client.end()
  }
}

async function createModel(target: Target) {
  const workspace = await prepareWorkspace(target, 'model', configurationArchive())
  await timeRun(target, workspace)
  return workspace.id
}

async function createMember(target: Target) {
  const attributes = { username: 'member', email: 'member@example.com', password: 'a bench password, long enough' }
  const { data } = await api(target, 'POST', '/admin/users', { data: { type: 'users', attributes } })
  const token = await api(target, 'POST', `/users/${data.id}/authentication-tokens`, {
    data: { type: 'authentication-tokens', attributes: { description: 'bench' } },
  })
  return { id: data.id, token: token.data.attributes.token }
}

async function createOrganization(target: Target, name: string) {
  await api(target, 'POST', '/organizations', {
    data: { type: 'organizations', attributes: { name, email: 'bench@example.com' } },
  })
}

/** Returns the statements that recreate them. Indexes of constraints are kept. */
async function dropIndexes(client: pg.Client) {
  const { rows } = await client.query<{ name: string; made: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as made
       from pg_index i where i.indrelid = any(select to_regclass(name) from unnest($1::text[]) name) and not exists (
         select from pg_constraint c where c.conindid = i.indexrelid)`,
    [TABLES],
  )
  for (const { name } of rows) await client.query(`drop index ${name}`)
  return rows.map(({ made }) => made)
}

type Seed = { name: string; workspaces: number; runs: number; busiest: number; model: string }

async function seedOrganization(client: pg.Client, { name, workspaces, runs, busiest, model }: Seed) {
  const found = await client.query<{ id: string }>('select id from organizations where name = $1', [name])
  const id = found.rows[0]?.id ?? ''
  await copy(client, `users where username = 'member'`, PEOPLE, {
    id: `'user-${name}' || n`,
    username: `'${name}-' || n`,
    email: `'${name}-' || n || '@example.com'`,
  })
  await copy(client, `projects where organization_id = '${id}'`, PROJECTS, {
    id: `'prj-${name}' || n`,
    name: `'area ' || n`,
    workspace_count: `(select count(*) from generate_series(1, ${workspaces}) n where ${PROJECT} = made.n)`,
  })
  await copy(client, `workspaces where id = '${model}'`, workspaces, {
    id: `'ws-${name}' || n`,
    name: `case when n % 4000 = 7 then 'odd-quay-' else 'service-' end || n`,
    organization_id: `'${id}'`,
    project_id: `'prj-${name}' || ${PROJECT}`,
    engine_version: `case when n % 1000 = 3 then '1.5.0' else model.engine_version end`,
    locked_by_type: `case when n % 500 = 5 then 'user' end`,
    locked_by_id: `case when n % 500 = 5 then 'user-${name}1' end`,
    locked_at: `case when n % 500 = 5 then now() end`,
    has_drift: 'n % 700 = 9',
    latest_change_at: `now() - n * interval '1 minute'`,
    created_at: `now() - n * interval '1 hour'`,
  })
  await seedRuns(client, { name, id, workspaces, runs, busiest, model })
  await client.query(
    `insert into tag_bindings (id, organization_id, workspace_id, key, value, created_at)
     select 'tb-' || $1 || n || tag.key, $2, 'ws-' || $1 || n, tag.key, tag.value, now()
       from generate_series(1, $3::int) n cross join lateral (values ('env', case n % 3 when 0 then 'prod' else 'test' end),
         ('owner', 'team-' || n % 40), (case when n % 2000 = 11 then 'retired' end, '')) tag (key, value)
      where tag.key is not null`,
    [name, id, workspaces],
  )
}

/** Five projects are large, and a seventh one has few workspaces. */
const PROJECT = '(case when n % 200 = 7 then 7 else n % 5 + 1 end)'

/**
 * A run per minute. Most are applied, few failed, fewer were canceled; destroy runs never fail; one user created one run in a
 * hundred thousand.
 */
async function seedRuns(client: pg.Client, { name, id, workspaces, runs, busiest, model }: Seed & { id: string }) {
  const others = workspaces - 1
  await copy(client, `runs where workspace_id = '${model}'`, runs, {
    id: `'run-${name}' || n`,
    seq: `nextval('run_order')`,
    workspace_id: `'ws-${name}' || case when n <= ${busiest} then 1 else (n - ${busiest} - 1) % ${others} + 2 end`,
    organization_id: `'${id}'`,
    number: `case when n <= ${busiest} then n else (n - ${busiest} - 1) / ${others} + 1 end`,
    status: `case when n % 20000 = 8 then 'canceled' when n % 40 = 6 then 'discarded' when n % 15 = 3 then 'errored'
                  when n % 5 = 1 then 'planned_and_finished' else 'applied' end`,
    plan_only: 'n % 5 = 1',
    is_destroy: 'n % 10 = 4',
    save_plan: 'n % 30000 = 13',
    source: `case when n % 2 = 0 then 'tfe-api' when n % 3 = 0 then 'tfe-ui' else 'terraform+cloud' end`,
    created_by_user_id: `'user-${name}' || case when n % 100000 = 77 then 40 when n % 3 = 0 then 1 else n % 38 + 2 end`,
    message: `case when n % 50000 = 99 then 'Quench the flux capacitor of zone ' || n
                   when n % 2 = 0 then 'Triggered via API for release ' || n else 'Triggered via UI by ${name}-' || n % 38 end`,
    created_at: `now() - (${runs} - n) * interval '1 minute'`,
    updated_at: `now() - (${runs} - n - 1) * interval '1 minute'`,
  })
  const copied = `run_id in (select id from runs where workspace_id = '${model}')`
  await copy(client, `phases where ${copied}`, runs, {
    id: `model.kind || '-${name}' || n`,
    run_id: `'run-${name}' || n`,
  })
  await copy(client, `run_events where ${copied}`, runs, {
    id: `'re-${name}' || n || model.action`,
    run_id: `'run-${name}' || n`,
    seq: `nextval(pg_get_serial_sequence('run_events', 'seq'))`,
  })
  const current = await assignmentsOf(client, 'workspaces', {
    current_run_id: 'r.id',
    latest_run_id: 'r.id',
    run_count: 'r.number',
    current_run_created_at: 'r.created_at',
    current_run_final_status: `case when ${IS_FINAL} then r.status end`,
    run_group: RUN_GROUP,
  })
  // Without statistics, each workspace would be compared with each run.
  await client.query('analyze runs, workspaces')
  await client.query(
    `update workspaces w set ${current}
       from (select workspace_id, max(number) as number from runs where organization_id = $1 group by 1) last
       join runs r on r.workspace_id = last.workspace_id and r.number = last.number and r.organization_id = $1
      where w.id = r.workspace_id`,
    [id],
  )
  await insertKeys(client, id)
}

const IS_FINAL = `r.status in (${FINAL_STATUSES.map((status) => `'${status}'`).join(', ')})`
const GROUPS = Object.entries(RUN_STATUS_TABLE).map(([status, { group }]) => `when '${status}' then '${group}'`)
const RUN_GROUP = `case r.status ${GROUPS.join(' ')} end`

async function seedAudit(client: pg.Client, events: number) {
  await copy(client, `audit_events where action = 'create' and organization_id is not null`, events, {
    id: `'ae-' || n`,
    organization_id: `case when n % 5 = 0 then model.organization_id else (select id from organizations where name = 'vast') end`,
    resource_id: `'run-vast' || n`,
    created_at: `now() - n * interval '20 seconds'`,
  })
  await insertFrom(
    client,
    'audit_days',
    { organization_id: `coalesce(organization_id, '')`, starts_at: 'day', events: 'count(*)' },
    `(select organization_id, date_trunc('day', created_at, 'UTC') as day from audit_events
       where created_at < date_trunc('day', now() - interval '1 hour', 'UTC')) counted
      group by grouping sets ((organization_id, day), (day))
     having grouping(organization_id) = 1 or organization_id is not null`,
  )
}

/**
 * Copies a row of a table `times` times (all rows of phases and events), with other values in some columns: SQL with the `model` and
 * the counter `n`.
 */
export async function copy(client: pg.Client, models: string, times: number, values: Record<string, string>) {
  const [table = ''] = models.split(' ')
  const names = await columnsOf(client, table)
  const isOne = !['phases', 'run_events'].includes(table)
  await client.query(`create temp table models as select * from ${models} ${isOne ? 'limit 1' : ''}`)
  await client.query(
    `insert into ${table} (${names.join(', ')}) overriding system value
     select ${names.map((name) => values[name] ?? `model.${name}`).join(', ')}
       from generate_series(1, ${times}) made (n), models model`,
  )
  await client.query('drop table models')
}

/** A team with access to one workspace in forty. */
async function grantToMember(client: pg.Client, userId: string) {
  await client.query(
    `insert into organization_memberships select (jsonb_populate_record(m, jsonb_build_object('id', 'ou-vast',
         'user_id', $1::text, 'email', 'member@example.com'))).*
       from organization_memberships m join organizations o on o.id = m.organization_id where o.name = 'vast' limit 1`,
    [userId],
  )
  await client.query(
    `insert into teams (id, organization_id, name, service_user_id, created_at, updated_at)
     select 'team-vast', t.organization_id, 'readers', t.service_user_id, now(), now()
       from teams t join organizations o on o.id = t.organization_id where o.name = 'vast' and t.is_owners`,
  )
  await client.query(`insert into team_members (team_id, user_id, created_at) values ('team-vast', $1, now())`, [
    userId,
  ])
  await client.query(
    `insert into team_workspaces (id, team_id, workspace_id, access, created_at)
     select 'tws-vast' || n, 'team-vast', 'ws-vast' || n * 40, 'read', now() from generate_series(1, 400) n`,
  )
}
