import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { findPostgres } from '../server/src/postgres/postgres.ts'
import { type Million, copy, seedMillion } from './million-seed.ts'
import { configurationArchive, prepareWorkspace, startRun, untilApplied } from './runs.ts'
import { bodyOf, KB, stateOf } from './state-bodies.ts'
import { type Target, api } from './target.ts'

export const SOAK = { workspaces: 10_000, runs: 50_000, states: 200_000 }
const BUSIEST = 2_000
const AUDIT_EVENTS = 250_000
const PEOPLE = 1_000

/** The values of the parameters of lists, by the segment of the path before the parameter, or by the parameter. */
export type Ids = Record<string, string>

/**
 * Fills the target's database with a large installation: the rows of runs and workspaces, 20 states for each workspace, and everything
 * else that has a list, in proportion. The server creates one of each, and SQL copies it. Returns the ids to ask the lists for.
 */
export async function seedSoak(target: Target): Promise<{ million: Million; ids: Ids }> {
  const { workspaces, runs } = SOAK
  const million = await seedMillion(target, {
    organizations: [{ name: 'vast', workspaces, runs, busiest: BUSIEST }],
    auditEvents: AUDIT_EVENTS,
  })
  const models = await createModels(target, million)
  await using postgres = await findPostgres(target.dataDir)
  const client = new pg.Client(postgres.url)
  await client.connect()
  try {
    // Triggers would signal each row to open pages. References are not checked either.
    await client.query(`set session_replication_role = replica; set synchronous_commit = off`)
    await seedStates(client, models.state)
    await seedPeople(client)
    for (const [source, times, values] of copies(models)) await copy(client, source, times, values)
    const ids = await idsOf(client, million, models)
    await client.query(
      `insert into registry_provider_versions (id, registry_provider_id, version, protocols, key_id, created_at, updated_at)
       select 'provver-soak' || n, p.id, '1.0.' || n, '{5.0}', 'key', now(), now()
         from registry_providers p, generate_series(1, 200) n where p.name = 'cloud'`,
    )
    await client.query('vacuum analyze')
    await client.query('checkpoint')
    return { million, ids }
  } finally {
    await client.end()
  }
}

type Models = Record<
  'state' | 'run' | 'task' | 'pool' | 'set' | 'team' | 'variables' | 'client' | 'notifications',
  string
>

/** One of everything, created by requests. */
async function createModels(target: Target, { workspaceId, runId }: Million): Promise<Models> {
  const inside = '/organizations/vast'
  const create = async (path: string, type: string, attributes: object, relationships: object = {}) =>
    (await api(target, 'POST', path, { data: { type, attributes, relationships } })).data.id
  const one = (type: string, id: string) => ({ data: { type, id } })
  const receiver = await startReceiver()
  try {
    const live = await prepareWorkspace(target, 'soak', configurationArchive(), 'vast')
    const task = await create(`${inside}/tasks`, 'tasks', { name: 'checks', url: receiver.url, category: 'task' })
    const workspaceTask = { 'enforcement-level': 'advisory', stages: ['post_plan'] }
    await create(`/workspaces/${live.id}/tasks`, 'workspace-tasks', workspaceTask, { task: one('tasks', task) })
    const run = await startRun(target, live)
    await untilApplied(target, run)
    const { id: stored } = await prepareWorkspace(target, 'states', configurationArchive(), 'vast')
    await api(target, 'POST', `/workspaces/${stored}/actions/lock`)
    const body = JSON.parse(bodyOf(stateOf(1, 2 * KB), 1).inline.toString()) as object
    const { data } = await api(target, 'POST', `/workspaces/${stored}/state-versions`, body)
    await create(`/runs/${runId}/comments`, 'comments', { body: 'approved by the platform team' })
    const pool = await create(`${inside}/agent-pools`, 'agent-pools', { name: 'pool' })
    await create(`/agent-pools/${pool}/authentication-tokens`, 'authentication-tokens', { description: 'rack' })
    const team = await create(`${inside}/teams`, 'teams', { name: 'staff' })
    await create(`/teams/${team}/authentication-tokens`, 'authentication-tokens', { description: 'ci' })
    await create(
      '/team-projects',
      'team-projects',
      { access: 'read' },
      { team: one('teams', team), project: one('projects', 'prj-vast1') },
    )
    const variable = { key: 'region', value: 'north', category: 'terraform' }
    await create(`/workspaces/${workspaceId}/vars`, 'vars', variable)
    const variables = await create(`${inside}/varsets`, 'varsets', { name: 'regions', global: false })
    await create(`/varsets/${variables}/relationships/vars`, 'vars', variable)
    const notifications = await create(
      `/workspaces/${workspaceId}/notification-configurations`,
      'notification-configurations',
      {
        name: 'chat',
        'destination-type': 'email',
        enabled: false,
      },
    )
    await create(
      `/workspaces/${workspaceId}/run-triggers`,
      'run-triggers',
      {},
      { sourceable: one('workspaces', live.id) },
    )
    const set = await create(`${inside}/policy-sets`, 'policy-sets', { name: 'set', kind: 'opa' })
    await create(`/policy-sets/${set}/parameters`, 'vars', { key: 'limit', value: '5', category: 'policy-set' })
    await create(`${inside}/policies`, 'policies', { name: 'policy', kind: 'opa', query: 'data.main.deny' })
    await create(`${inside}/registry-modules`, 'registry-modules', {
      name: 'network',
      provider: 'aws',
      'registry-name': 'private',
      'no-code': false,
    })
    await create(`${inside}/registry-providers`, 'registry-providers', {
      name: 'cloud',
      namespace: 'vast',
      'registry-name': 'private',
    })
    const clientId = await create(`${inside}/oauth-clients`, 'oauth-clients', {
      'service-provider': 'git',
      'http-url': 'https://git.example.com',
      'oauth-token-string': 'secret',
      'oauth-token-username': 'git',
    })
    await create(`${inside}/reserved-tag-keys`, 'reserved-tag-keys', { key: 'stage' })
    return { state: data.id, run, task, pool, set, team, variables, client: clientId, notifications }
  } finally {
    receiver.close()
  }
}

/** Approves every request of a run task, and accepts every notification. */
async function startReceiver() {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response.end()
      const { task_result_callback_url: url, access_token: token } = JSON.parse(
        Buffer.concat(chunks).toString() || '{}',
      ) as Record<string, string>
      if (url === undefined || token === 'test-token') return
      const outcome = { type: 'task-result-outcomes', attributes: { 'outcome-id': 'O-1', description: 'one finding' } }
      const body = {
        data: {
          type: 'task-results',
          attributes: { status: 'passed', message: 'fine' },
          relationships: { outcomes: { data: [outcome] } },
        },
      }
      void fetch(url, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
        body: JSON.stringify(body),
      })
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const WORKSPACE = `'ws-vast' || (n - 1) % ${SOAK.workspaces} + 1`
const PER_WORKSPACE = SOAK.states / SOAK.workspaces

async function seedStates(client: pg.Client, state: string) {
  const revision = `(n - 1) / ${SOAK.workspaces} + 10`
  await copy(client, `state_versions where id = '${state}'`, SOAK.states, {
    id: `'sv-soak' || n`,
    workspace_id: WORKSPACE,
    revision,
    serial: revision,
    created_at: `now() - (${SOAK.states} - n) * interval '1 minute'`,
  })
  await copy(client, `state_contents where state_version_id = '${state}' and kind = 'raw'`, SOAK.states, {
    state_version_id: `'sv-soak' || n`,
  })
  await copy(client, `state_version_outputs where state_version_id = '${state}'`, SOAK.states, {
    id: `'wsout-soak' || n`,
    state_version_id: `'sv-soak' || n`,
  })
  const last = `'sv-soak' || (${SOAK.states - SOAK.workspaces} + substring(id from 8)::int)`
  await client.query(
    `update workspaces set current_state_version_id = ${last}, latest_state_version_id = ${last},
            state_revision = ${PER_WORKSPACE + 10}, state_version_count = ${PER_WORKSPACE},
            latest_state_serial = ${PER_WORKSPACE + 9}, latest_state_lineage = model.lineage,
            resource_count = model.resource_count
       from (select lineage, resource_count from state_versions where id = $1) model
      where workspaces.id like 'ws-vast%'`,
    [state],
  )
}

/** A thousand members of the organization and of one of its teams. */
async function seedPeople(client: pg.Client) {
  await copy(client, `users where username = 'member'`, PEOPLE, {
    id: `'user-soak' || n`,
    username: `'person-' || n`,
    email: `'person-' || n || '@example.com'`,
  })
  await copy(client, `organization_memberships where id = 'ou-vast'`, PEOPLE, {
    id: `'ou-soak' || n`,
    user_id: `'user-soak' || n`,
    email: `'person-' || n || '@example.com'`,
  })
  await client.query(
    `insert into team_members (team_id, user_id, created_at)
     select t.id, 'user-soak' || n, now() from teams t, generate_series(1, ${PEOPLE}) n where t.name = 'staff'`,
  )
}

type Copies = [source: string, times: number, values: Record<string, string>]

const id = (prefix: string) => `'${prefix}-soak' || n`
const nextIn = (table: string) => ({ seq: `nextval(pg_get_serial_sequence('${table}', 'seq'))` })
const named = (name: string) => `'${name}-' || n`

function copies({ run, task, team, pool, variables, set, client, notifications }: Models): Copies[] {
  const ofRun = `run_id = '${run}'`
  const hash = `decode(md5(model.id || n) || md5(n || model.id), 'hex')`
  return [
    ['configuration_versions', 20_000, { id: id('cv'), workspace_id: WORKSPACE, ...nextIn('configuration_versions') }],
    [`comments`, 2_000, { id: id('wsc'), ...nextIn('comments') }],
    [`variables where workspace_id is not null`, 50_000, { id: id('var'), workspace_id: WORKSPACE, key: named('key') }],
    [`variables where variable_set_id = '${variables}'`, 500, { id: id('vs'), key: named('key') }],
    [`variable_sets where id = '${variables}'`, 500, { id: id('varset'), name: named('set') }],
    [`tasks where id = '${task}'`, 500, { id: id('task'), name: named('task') }],
    [`workspace_tasks`, 10_000, { id: id('wstask'), workspace_id: WORKSPACE, task_id: `'task-soak' || n % 500 + 1` }],
    [`task_stages where ${ofRun}`, 20_000, { id: id('ts'), run_id: `'run-vast' || n` }],
    [
      `task_results where ${ofRun}`,
      20_000,
      { id: id('taskrs'), run_id: `'run-vast' || n`, task_stage_id: `'ts-soak' || n`, access_token: 'null' },
    ],
    [
      `task_outcomes`,
      20_000,
      { id: id('tsro'), outcome_id: named('O'), task_result_id: `'taskrs-soak1'`, ...nextIn('task_outcomes') },
    ],
    [
      `task_deliveries`,
      20_000,
      { id: id('tdel'), task_result_id: `'taskrs-soak' || n`, sent_at: `now() - n * interval '1 minute'` },
    ],
    [`notification_configurations where id = '${notifications}'`, 500, { id: id('nc'), name: named('chat') }],
    [`run_triggers`, 500, { id: id('rt'), source_id: `'ws-vast' || n + 1`, ...nextIn('run_triggers') }],
    [
      `run_triggers`,
      2_000,
      { id: `'rt-back' || n`, workspace_id: `'ws-vast' || n + 1`, source_id: `'ws-vast1'`, ...nextIn('run_triggers') },
    ],
    [`agent_pools where id = '${pool}'`, 200, { id: id('apool'), name: named('pool') }],
    [`agents`, 1_000, { id: id('agent'), agent_pool_id: `'${pool}'`, name: named('agent'), exited_at: 'now()' }],
    [`tokens where agent_pool_id = '${pool}'`, 500, { id: id('at'), hash }],
    [`tokens where team_id = '${team}'`, 500, { id: `'at-team' || n`, description: named('ci'), hash }],
    [`tokens where user_id is not null`, 500, { id: `'at-user' || n`, hash }],
    [`teams where id = '${team}'`, 300, { id: id('team'), name: named('team') }],
    [`team_projects where team_id = '${team}'`, 300, { id: id('tprj'), team_id: `'team-soak' || n` }],
    [
      `team_workspaces where team_id = 'team-vast'`,
      3_000,
      {
        id: id('tws'),
        team_id: `'team-soak' || n % 300 + 1`,
        workspace_id: `case when n <= 300 then 'ws-vast1' else 'ws-vast' || n end`,
      },
    ],
    [`policy_sets where id = '${set}'`, 500, { id: id('polset'), name: named('set') }],
    [`policies`, 500, { id: id('pol'), name: named('policy') }],
    [`policy_set_parameters`, 200, { id: id('pvar'), key: named('key') }],
    [`registry_modules`, 500, { id: id('mod'), name: named('network') }],
    [`registry_providers`, 200, { id: id('prov'), name: named('cloud') }],
    [
      `oauth_clients where id = '${client}'`,
      100,
      { id: id('oc'), uuid: `gen_random_uuid()::text`, name: named('git') },
    ],
    [`oauth_tokens`, 100, { id: id('ot'), oauth_client_id: id('oc') }],
    [`reserved_tag_keys`, 200, { id: id('rtk'), key: named('key') }],
  ]
}

async function idsOf(client: pg.Client, { organization, workspaceId, runId }: Million, models: Models): Promise<Ids> {
  await client.query(
    `insert into notifications (id, configuration_id, receiver_id, organization_id, workspace_id, trigger, facts, status, deadline_at, created_at)
     select 'ntf-soak' || n, $1, $1, w.organization_id, w.id, 'run:created', '{"message": "Run Created"}', 'delivered', now(), now() - n * interval '1 minute'
       from workspaces w, generate_series(1, 20000) n where w.id = 'ws-vast1'`,
    [models.notifications],
  )
  return {
    organizations: organization,
    workspaces: workspaceId,
    runs: runId,
    projects: 'prj-vast1',
    'agent-pools': models.pool,
    teams: models.team,
    users: 'user-soak1',
    'notification-configurations': models.notifications,
    notifications: 'ntf-soak1',
    'policy-sets': models.set,
    'registry-modules': 'mod-soak1',
    'registry-providers': 'private',
    '{namespace}': organization,
    '{name}': 'cloud',
    'oauth-clients': models.client,
    'state-versions': models.state,
    'task-results': 'taskrs-soak1',
    tasks: models.task,
    varsets: models.variables,
  }
}
