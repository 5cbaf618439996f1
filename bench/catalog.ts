import pg from 'pg'
import { findPostgres } from '../server/src/postgres/postgres.ts'
import { configurationArchive, prepareWorkspace } from './runs.ts'
import { insertKeys } from './seed-sql.ts'
import { type Target, api } from './target.ts'

const TEAMS = 100

export type Organization = { name: string; workspaceId: (number: number) => string }

/** Organizations of several sizes, and the token of a user with the access of a hundred teams. */
export type Catalog = { thousand: Organization; large: Organization; small: Organization; member: string }

/**
 * Fills the target's database. The data of lists is copied in SQL from one workspace and one run that the server
 * created: a hundred thousand runs would take a quarter of an hour through the API.
 */
export async function seedCatalog(target: Target): Promise<Catalog> {
  await using postgres = await findPostgres(target.dataDir)
  const client = new pg.Client(postgres.url)
  await client.connect()
  try {
    // Triggers would signal each row to open pages, for minutes.
    await client.query('set session_replication_role = replica')
    const member = await createMember(target)
    const model = await createModel(target)
    const seed = (name: string, size: Size) =>
      seedOrganization({ target, client, model, member: member.id }, name, size)
    const catalog = {
      thousand: await seed('thousand', { workspaces: 1_000, runs: 0 }),
      small: await seed('small', { workspaces: 20, runs: 20 }),
      large: await seed('large', { workspaces: 10_000, runs: 100_000 }),
      member: member.token,
    }
    await client.query('vacuum analyze')
    return catalog
  } finally {
    await client.end()
  }
}

async function createMember(target: Target) {
  const { data } = await api(target, 'POST', '/admin/users', {
    data: {
      type: 'users',
      attributes: { username: 'member', email: 'member@example.com', password: 'a bench password, long enough' },
    },
  })
  const token = await api(target, 'POST', `/users/${data.id}/authentication-tokens`, {
    data: { type: 'authentication-tokens', attributes: { description: 'bench' } },
  })
  return { id: data.id, token: token.data.attributes.token }
}

/** Creates a run that waits for the lock of its workspace, so that nothing processes it. */
async function createModel(target: Target) {
  const workspace = await prepareWorkspace(target, 'model', configurationArchive())
  await api(target, 'POST', `/workspaces/${workspace.id}/actions/lock`)
  const { data } = await api(target, 'POST', '/runs', {
    data: { type: 'runs', relationships: { workspace: { data: { type: 'workspaces', id: workspace.id } } } },
  })
  await api(target, 'POST', `/runs/${data.id}/actions/discard`)
  await api(target, 'POST', `/workspaces/${workspace.id}/actions/unlock`)
  return { workspaceId: workspace.id, runId: data.id }
}

type Size = { workspaces: number; runs: number }
type Seed = {
  target: Target
  client: pg.Client
  model: { workspaceId: string; runId: string }
  member: string
}

async function seedOrganization({ target, client, model, member }: Seed, name: string, { workspaces, runs }: Size) {
  await api(target, 'POST', '/organizations', {
    data: { type: 'organizations', attributes: { name, email: 'bench@example.com' } },
  })
  const run = (text: string, values: unknown[]) => client.query(text, values)
  await run(
    `insert into workspaces select (jsonb_populate_record(w, jsonb_build_object('id', 'ws-' || $2 || n,
         'name', 'bench-' || n, 'organization_id', p.organization_id, 'project_id', p.id,
         'current_run_id', null, 'latest_run_id', null, 'current_configuration_version_id', null))).*
       from workspaces w, generate_series(1, $3::int) n,
            projects p join organizations o on o.id = p.organization_id and o.name = $2
      where w.id = $1`,
    [model.workspaceId, name, workspaces],
  )
  await run(
    `insert into runs select (jsonb_populate_record(r, jsonb_build_object('id', 'run-' || $2 || n,
         'workspace_id', 'ws-' || $2 || (n % $4 + 1), 'organization_id', o.id, 'seq', nextval('run_order'),
         'number', n / $4 + 1, 'status', 'applied'))).*
       from organizations o, runs r, generate_series(0, $3::int - 1) n where o.name = $2 and r.id = $1`,
    [model.runId, name, runs, workspaces],
  )
  await run(
    `insert into phases select (jsonb_populate_record(f, jsonb_build_object('id', f.kind || '-' || $2 || n,
         'run_id', 'run-' || $2 || n))).*
       from phases f, generate_series(0, $3::int - 1) n where f.run_id = $1`,
    [model.runId, name, runs],
  )
  const { rows } = await client.query<{ id: string }>('select id from organizations where name = $1', [name])
  await insertKeys(client, rows[0]?.id ?? '')
  await grant(client, name, { member, workspaces })
  return { name, workspaceId: (number: number) => `ws-${name}${number}` }
}

/** Grants each workspace to one of the teams, all of which have the same member. */
async function grant(client: pg.Client, name: string, { member, workspaces }: { member: string; workspaces: number }) {
  await client.query(
    `insert into organization_memberships select (jsonb_populate_record(m, jsonb_build_object('id', 'ou-' || $1,
         'user_id', $2::text, 'email', 'member@example.com'))).*
       from organization_memberships m join organizations o on o.id = m.organization_id where o.name = $1 limit 1`,
    [name, member],
  )
  await client.query(
    `insert into teams (id, organization_id, name, service_user_id, created_at, updated_at)
     select 'team-' || $1 || n, t.organization_id, 'team-' || n, t.service_user_id, now(), now()
       from teams t join organizations o on o.id = t.organization_id, generate_series(1, $2::int) n
      where o.name = $1 and t.is_owners`,
    [name, TEAMS],
  )
  await client.query(
    `insert into team_members (team_id, user_id, created_at)
     select 'team-' || $1 || n, $2, now() from generate_series(1, $3::int) n`,
    [name, member, TEAMS],
  )
  await client.query(
    `insert into team_workspaces (id, team_id, workspace_id, access, created_at)
     select 'tws-' || $1 || n, 'team-' || $1 || (n % $3 + 1), 'ws-' || $1 || n, 'write', now()
       from generate_series(1, $2::int) n`,
    [name, workspaces, TEAMS],
  )
}
