import { generateKeyPairSync } from 'node:crypto'
import { createTrial } from '../../features/organizations/sso/trials.ts'
import { ensureIdentityKey, listPublishedKeys } from '../../features/runs/identity-keys/service.ts'
import { startTaskDeliveries } from '../../features/tasks/task-results/delivery-loop.ts'
import type { TestApp } from '../../testing/app.ts'
import { atEnd } from '../../testing/cleanup.ts'
import type { TestUser } from '../../testing/factories.ts'
import { createFailedJob } from '../../testing/failed-jobs.ts'
import { createFakeAgent, type FakeAgent } from '../../testing/fake-agent.ts'
import { startReceiver } from '../../testing/receiver.ts'
import { actOnRun, createRun, readRun, type RunSetting, uploadConfiguration } from '../../testing/runs.ts'
import { rawState, stateVersionBody } from '../../testing/state-versions.ts'
import { addTask, callBack, finishNextJob } from '../../testing/task-runs.ts'
import {
  type Connecting,
  createAttachedPolicies,
  createModule,
  createPolicies,
  createProvider,
  evaluate,
} from './registry-fixtures.ts'

/** A resource of each kind in one organization. */
export type Fixtures = {
  organization: { id: string; name: string }
  /**
   * By the path segment before the id; where that is ambiguous, as `first/segment` or
   * `segment>last`, with the path's first or last segment.
   */
  ids: Record<string, string> & { workspaces: string }
  /** Tokens that do not belong to users. */
  tokens: Record<'org' | 'agent' | 'run' | 'job' | 'task' | 'audit', string>
}

type Setting = {
  owner: TestUser
  organization: { id: string; name: string }
  /** The member on whom actions on users operate. */
  bystander: TestUser
}

/** Creates a resource of each kind through the API, as the owner. Names are constant. */
export async function createFixtures(app: TestApp, { owner, organization, bystander }: Setting): Promise<Fixtures> {
  const request = async (method: 'GET' | 'POST' | 'PATCH', url: string, data?: unknown) => {
    const body = data === undefined ? {} : { body: { data } }
    const response = await app.request({ method, url: `/api/v2${url}`, token: owner.token, ...body })
    if (response.status >= 300) throw new Error(`${method} ${url} returned ${response.status}: ${response.text}`)
    return response.status === 204 ? undefined : response.json().data
  }
  const make = async (url: string, type: string, attributes: object, relationships: object = {}): Promise<string> =>
    (await request('POST', url, { type, attributes, relationships })).id
  const secret = async (url: string): Promise<string> =>
    (await request('POST', url, { type: 'authentication-tokens', attributes: { description: 'ci' } })).attributes.token
  const inside = `/organizations/${organization.name}`

  await request('PATCH', inside, { type: 'organizations', attributes: { 'allow-force-delete-workspaces': true } })
  const project = await make(`${inside}/projects`, 'projects', { name: 'platform' })
  const workspace = await make(
    `${inside}/workspaces`,
    'workspaces',
    { name: 'network' },
    { project: one('projects', project), tags: { data: [{ type: 'tags', attributes: { name: 'shared' } }] } },
  )
  const at = `/workspaces/${workspace}`
  const configuration = await uploadConfiguration(app, { user: owner, workspaceId: workspace })
  const setting: RunSetting = {
    user: owner,
    organization: organization.name,
    workspaceId: workspace,
    workspaceName: 'network',
    configurationVersionId: configuration,
  }

  const source = await make(`${inside}/workspaces`, 'workspaces', { name: 'upstream' })

  const agent = await createFakeAgent(app)
  const lost = await loseState(app, { setting, agent })

  await request('POST', `${at}/actions/lock`)
  const versions: string[] = []
  for (const serial of [1, 2]) {
    const raw = rawState({ serial, outputs: { address: '10.0.0.1' }, resources: ['web'] })
    versions.push((await request('POST', `${at}/state-versions`, stateVersionBody(raw).data)).id)
  }
  await app.runJobs()
  const [output] = await request('GET', `/state-versions/${versions[1]}/outputs`)

  // A run that waits for its task, one that is planning, and one that waits for the lock.
  const receiver = await startReceiver()
  const { task, workspaceTask } = await addTask(
    app,
    { ...setting, agent, receiver },
    { stages: ['post_plan'], name: 'checks' },
  )
  await createAttachedPolicies(app, { make, inside, workspace })
  const deliveries = startTaskDeliveries(app.as())
  atEnd(() => deliveries[Symbol.asyncDispose]())
  const run = await createRun(app, setting, { 'plan-only': true, message: 'grow' })
  await finishNextJob(agent, run)
  const evaluated = await evaluate(app, { agent, run, owner })
  const { payload } = await receiver.received(1)
  await deliveries[Symbol.asyncDispose]()
  const outcome = { 'outcome-id': 'O-1', description: 'one finding', body: '# Finding' }
  await callBack(app, payload, { status: 'running', message: 'looking' }, [outcome])
  await createRun(app, setting, { 'plan-only': true })
  const job = await agent.take()
  await job.put('plan-json', '{}')
  const pending = await createRun(app, setting, { message: 'shrink' })

  const pool = await make(`${inside}/agent-pools`, 'agent-pools', { name: 'cellar' })
  const agentToken = await request('POST', `/agent-pools/${pool}/authentication-tokens`, {
    type: 'authentication-tokens',
    attributes: { description: 'rack' },
  })
  const poolAgent = await createFakeAgent(app, { token: agentToken.attributes.token, name: 'rack' })
  const team = await make(`${inside}/teams`, 'teams', { name: 'auditors', visibility: 'organization' })
  const variable = { key: 'region', value: 'north', category: 'terraform' }
  const variableSet = await make(
    `${inside}/varsets`,
    'varsets',
    { name: 'regions', global: false },
    { workspaces: { data: [{ type: 'workspaces', id: workspace }] } },
  )
  const setVariable = await make(`/varsets/${variableSet}/relationships/vars`, 'vars', variable)
  const { relationships } = await request('GET', `/runs/${run}`)
  const [stage] = await request('GET', `/runs/${run}/task-stages`)
  const [event] = await request('GET', `/runs/${run}/run-events`)
  const [tag] = await request('GET', `${inside}/tags`)
  const [outcomeRow] = await request('GET', `/task-results/${payload.task_result_id}/outcomes`)
  await secret(`/teams/${team}/authentication-token`)
  for (const subject of [inside, at]) {
    await request('POST', `${subject}/relationships/data-retention-policy`, {
      type: 'data-retention-policy-delete-olders',
      attributes: { 'delete-older-than-n-days': 30 },
    })
  }
  const ids = {
    organizations: organization.name,
    'organizations/workspaces': 'network',
    projects: project,
    workspaces: workspace,
    'configuration-versions': configuration,
    'state-versions': String(versions[0]),
    'state-version-outputs': output.id,
    tasks: task,
    'workspaces/tasks': workspaceTask,
    runs: run,
    'runs>force-execute': pending,
    plans: relationships.plan.data.id,
    applies: lost,
    'task-stages': stage.id,
    ...evaluated,
    'task-results': payload.task_result_id,
    'task-result-outcomes': outcomeRow.id,
    'run-events': event.id,
    comments: await make(`/runs/${run}/comments`, 'comments', { body: 'looks good' }),
    'agent-pools': pool,
    'authentication-tokens': agentToken.id,
    agents: poolAgent.id,
    jobs: job.id,
    artifacts: 'plan-json',
    teams: team,
    users: bystander.id,
    avatars: `${bystander.id}.svg`,
    'organization-memberships': await make(
      `${inside}/organization-memberships`,
      'organization-memberships',
      { email: bystander.email },
      { teams: { data: [{ type: 'teams', id: team }] } },
    ),
    'run-triggers': await make(`${at}/run-triggers`, 'run-triggers', {}, { sourceable: one('workspaces', source) }),
    'team-workspaces': await make(
      '/team-workspaces',
      'team-workspaces',
      { access: 'read' },
      { team: one('teams', team), workspace: one('workspaces', workspace) },
    ),
    'team-projects': await make(
      '/team-projects',
      'team-projects',
      { access: 'read' },
      { team: one('teams', team), project: one('projects', project) },
    ),
    vars: await make(`${at}/vars`, 'vars', variable),
    varsets: variableSet,
    'varsets/vars': setVariable,
    'vars>:variableId': setVariable,
    tags: tag.id,
    ...(await createConnections(app, { make, organization })),
    'failed-jobs': await createFailedJob(app),
    'identity-keys': await createIdentityKey(app),
    'sign-in-trials': await createTrialOf(app, owner),
    ...(await createNotification(app, { make, organization, workspace })),
    ...(await createProvider(app, { make, organization }, owner.token)),
    ...(await createModule(app, { make, organization }, owner.token)),
    ...(await createPolicies(app, { make, organization }, run)),
    'reserved-tag-keys': await make(`${inside}/reserved-tag-keys`, 'reserved-tag-keys', { key: 'stage' }),
  }
  return {
    organization,
    ids,
    tokens: {
      org: await secret(`${inside}/authentication-token`),
      audit: await secret(`${inside}/authentication-token?token=audit-trails`),
      agent: agentToken.attributes.token,
      run: job.engineToken,
      job: job.token,
      task: payload.access_token,
    },
  }
}

/** Connections to hosts that no test reaches, and what such a host reported. */
async function createConnections(app: TestApp, { make, organization }: Connecting) {
  const inside = `/organizations/${organization.name}`
  const connect = async (attributes: object) => {
    const id = await make(`${inside}/oauth-clients`, 'oauth-clients', { 'oauth-token-string': 'secret', ...attributes })
    const { id: token } = await app.db
      .selectFrom('oauth_tokens')
      .select('id')
      .where('oauth_client_id', '=', id)
      .executeTakeFirstOrThrow()
    return { id, token }
  }
  // A git server has no API that would be asked.
  const git = await connect({
    'service-provider': 'git',
    'http-url': 'https://git.example.com',
    'oauth-token-username': 'git',
  })
  const github = await connect({ 'service-provider': 'github' })
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const now = app.clock.now()
  const organizationId = organization.id
  const delivery = app.newId('vcsd')
  const installation = {
    id: app.newId('ghain'),
    installation_id: 5,
    name: 'acme',
    installation_type: 'Organization',
    service_provider: 'github',
    http_url: 'https://github.com',
    api_url: 'https://api.github.com',
  } as const
  await app.db
    .insertInto('github_app_installations')
    .values({ ...installation, organization_id: organizationId, created_at: now })
    .execute()
  const repository = {
    id: app.newId('repo'),
    identifier: 'network',
    display_identifier: 'network',
    page_url: '',
    clone_url: 'https://git.example.com/network',
    webhook_path: `fixture-${organizationId}`,
    webhook_secret: Buffer.from('unused'),
  }
  await app.db
    .insertInto('repositories')
    .values({ ...repository, organization_id: organizationId, oauth_token_id: git.token, created_at: now })
    .execute()
  await app.db
    .insertInto('vcs_deliveries')
    .values({
      id: delivery,
      organization_id: organizationId,
      repository_id: repository.id,
      repository_identifier: 'network',
      delivery_key: 'fixture',
      source: 'webhook',
      status: 'ignored',
      message: 'a comment was added',
      received_at: now,
    })
    .execute()
  return {
    'oauth-clients': git.id,
    'oauth-tokens': git.token,
    // Of a connection that knows without a request that an identifier is none.
    'github-token': github.token,
    'ssh-keys': await make(`${inside}/ssh-keys`, 'ssh-keys', { name: 'modules', value: key }),
    'github-app-installations': installation.id,
    installation: installation.id,
    'vcs-repositories': repository.id,
    'vcs-deliveries': delivery,
  }
}

async function createIdentityKey(app: TestApp) {
  await ensureIdentityKey(app)
  const [key] = await listPublishedKeys(app)
  return key?.row.id ?? ''
}

/** A configuration of a workspace, and a notification that it has given up. */
async function createNotification(
  app: TestApp,
  { make, organization, workspace }: Connecting & { workspace: string },
): Promise<Record<string, string>> {
  const configuration = await make(
    `/workspaces/${workspace}/notification-configurations`,
    'notification-configurations',
    { name: 'mails', 'destination-type': 'email', enabled: true },
  )
  const notification = app.newId('ntf')
  const now = app.clock.now()
  await app.db
    .insertInto('notifications')
    .values({
      id: notification,
      configuration_id: configuration,
      receiver_id: configuration,
      organization_id: organization.id,
      workspace_id: workspace,
      trigger: 'run:created',
      facts: JSON.stringify({
        message: 'Run Created',
        workspace_name: 'network',
        organization_name: organization.name,
      }),
      status: 'failed',
      deadline_at: now,
      created_at: now,
    })
    .execute()
  return { 'notification-configurations': configuration, notifications: notification }
}

async function createTrialOf(app: TestApp, { actor }: TestUser) {
  const ctx = app.as({ ...actor, isSiteAdmin: true })
  return (await createTrial(ctx, { issuer: 'https://id.example.com', 'client-id': 'groundstate' })).row.id
}

/** Creates a run whose agent could not upload the state; returns the id of its apply. */
async function loseState(app: TestApp, { setting, agent }: { setting: RunSetting; agent: FakeAgent }): Promise<string> {
  const run = await createRun(app, setting)
  await finishNextJob(agent, run)
  await actOnRun(app, setting, { run, action: 'apply' })
  const job = await agent.take()
  await job.put('errored-state', rawState().toString())
  await job.finish({ status: 'errored', exitCode: 1 })
  return (await readRun(app, setting, run)).relationships.apply.data.id
}

function one(type: string, id: string) {
  return { data: { type, id } }
}

/** The URL of a route with its parameters filled in from `Fixtures.ids`. */
export function fill(url: string, ids: Record<string, string>) {
  const segments = url.replace(/^\/api\/v2/, '').split('/')
  const last = segments.at(-1)
  const path = segments.map((segment, index) => {
    if (!segment.startsWith(':')) return segment
    const noun = String(segments[index - 1])
    return ids[`${noun}>${last}`] ?? ids[`${segments[1]}/${noun}`] ?? ids[noun] ?? 'x-0000000000000000'
  })
  return `${url.startsWith('/api/v2') ? '/api/v2' : ''}${path.join('/')}`
}
