import type { ChangeType } from '@groundstate/contract/changes'
import { beforeAll, expect, test } from 'vitest'
import type { SignalledChange } from '../../../changes/feed.ts'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent, type FakeAgent, type FakeJob } from '../../../testing/fake-agent.ts'
import { addWorkspace, createRun, createRunSetting } from '../../../testing/runs.ts'
import { allSignals } from '../../../testing/signals.ts'
import { addTask, createTaskSetting, startDeliveries } from '../../../testing/task-runs.ts'
import { addMember } from '../../../testing/teams.ts'
import { createPool, createPoolToken } from '../../agents/agent-pools/testing/pools.ts'
import { requestOf, AuditFixtures } from '../audit-trail/testing/audit-fixtures.ts'
import { auditedChanges, writingRoutes } from '../audit-trail/testing/changes.ts'
import { watch } from './testing/watch.ts'

/** Change types of audit trail resources. */
const TYPES: Partial<Record<string, ChangeType[]>> = {
  agent: ['agents'],
  agent_pool: ['agent-pools'],
  comment: ['runs'],
  data_retention_policy: ['workspaces', 'organizations'],
  // or its tags, which belong to workspaces
  organization: ['organizations', 'workspaces'],
  gpg_key: ['gpg-keys'],
  github_app_installation: ['github-app-installations'],
  notification: ['notification-configurations'],
  notification_configuration: ['notification-configurations'],
  oauth_client: ['oauth-clients'],
  oauth_token: ['oauth-clients'],
  organization_user: ['organization-memberships'],
  policy: ['policies'],
  policy_set: ['policy-sets'],
  policy_set_parameter: ['policy-sets'],
  policy_set_version: ['policy-sets'],
  policy_trial: ['policy-trials'],
  project: ['projects'],
  registry_module: ['registry-modules'],
  registry_module_version: ['registry-modules'],
  registry_provider: ['registry-providers'],
  registry_provider_version: ['registry-providers'],
  run: ['runs'],
  run_trigger: ['run-triggers'],
  ssh_key: ['ssh-keys'],
  state_version: ['state-versions'],
  task: ['tasks'],
  task_result: ['task-results'],
  team: ['teams'],
  variable: ['vars', 'varsets'],
  variable_set: ['varsets'],
  vcs_delivery: ['vcs-deliveries'],
  vcs_repository: ['oauth-clients', 'workspaces'],
  workspace: ['workspaces'],
  workspace_task: ['workspace-tasks'],
}
/** Audited resources that pages show only to their owners or administrators, or only with other resources. */
const ON_NO_PAGE = new Set([
  'opa_version',
  'authentication_token',
  'configuration_version',
  'identity_key',
  'job',
  'notification_settings',
  'reserved_tag_key',
  'sample',
  'sign_in_settings',
  'state_version_output',
  'user',
])
/** Events whose organization is deleted or new, so that no page of it can be open. */
const UNTOLD = [/^(POST|DELETE) (\/admin)?\/organizations(\/:\w+)?$/]

const app = await createTestApp()
const changes = auditedChanges(app).flatMap(({ route, events, make }) => {
  if (isUntold(route)) return []
  const announced = events.flatMap((event) => {
    const types = TYPES[resourceOf(event)]
    return types ? [types] : []
  })
  return announced.length === 0 ? [] : [{ route, make, announced }]
})

let url: string
let fixtures: AuditFixtures
let signalled: SignalledChange[] = []
beforeAll(async () => {
  url = await app.listen()
  fixtures = await AuditFixtures.create(app)
  app.changes.listen((change) => signalled.push(change))
})

test.each(changes)('$route is announced', async ({ route, make, announced }) => {
  const request = requestOf(route, await make(fixtures), fixtures)
  await allSignals(app)
  signalled = []

  const done = await app.request(request)
  await allSignals(app)

  expect(done.status < 400 || done.text).toBe(true)
  const types = new Set(signalled.map(({ type }) => type))
  expect(announced.filter((names) => !names.some((name) => types.has(name)))).toEqual([])
})

/** The routes of agents, which record no audit events, in calling order. */
const AGENT_CHANGES: Record<string, ChangeType | 'nothing'> = {
  'POST /api/agent/v1/register': 'agents',
  'POST /api/agent/v1/agents/:agentId/claim': 'runs',
  'POST /api/agent/v1/jobs/:jobId/heartbeat': 'nothing',
  'PUT /api/agent/v1/jobs/:jobId/log': 'logs',
  'PUT /api/agent/v1/jobs/:jobId/artifacts/:kind': 'nothing',
  'POST /api/agent/v1/jobs/:jobId/release': 'runs',
  'POST /api/agent/v1/jobs/:jobId/result': 'runs',
  'POST /api/agent/v1/jobs/:jobId/documents': 'runs',
  'POST /api/agent/v1/jobs/:jobId/finish': 'runs',
  'POST /api/agent/v1/agents/:agentId/deregister': 'agents',
  // The response is announced when the delivery is recorded.
  'POST /api/agent/v1/agents/:agentId/claim-task': 'nothing',
  'POST /api/agent/v1/task-requests/:requestId/answer': 'nothing',
  'PUT /api/agent/v1/task-requests/:requestId/body': 'nothing',
  'POST /api/agent/v1/agents/:agentId/claim-git': 'nothing',
  'POST /api/agent/v1/git-requests/:requestId/heartbeat': 'nothing',
  'PUT /api/agent/v1/git-requests/:requestId/archive': 'nothing',
  'POST /api/agent/v1/git-requests/:requestId/answer': 'nothing',
}

test('every writing route notifies open pages, or changes nothing that they show', () => {
  const announced = new Set([...changes.map(({ route }) => route), ...Object.keys(AGENT_CHANGES)])
  const silent = writingRoutes(app).filter(({ route }) => !announced.has(route))

  const unknown = silent.filter(
    ({ route, events }) => !isUntold(route) && !events.every((event) => ON_NO_PAGE.has(resourceOf(event))),
  )

  expect(unknown).toEqual([])
})

test('reports of agents are announced', async () => {
  const setting = await createRunSetting(app)
  const pool = await createPool(app, setting)
  const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
  const inPool = await addWorkspace(app, {
    ...setting,
    attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id, 'auto-apply': true },
  })
  await createRun(app, inPool)
  let agent: FakeAgent | undefined
  let job: FakeJob | undefined
  const given = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('an earlier step has failed')
    return value
  }
  const steps: [keyof typeof AGENT_CHANGES, () => Promise<unknown>][] = [
    ['POST /api/agent/v1/register', async () => (agent = await createFakeAgent(app, { token }))],
    ['POST /api/agent/v1/agents/:agentId/claim', async () => (job = await given(agent).take())],
    ['POST /api/agent/v1/jobs/:jobId/heartbeat', async () => given(job).heartbeat()],
    ['PUT /api/agent/v1/jobs/:jobId/log', async () => given(job).log('a line\n')],
    ['PUT /api/agent/v1/jobs/:jobId/artifacts/:kind', async () => given(job).put('plan-file', 'a plan')],
    ['POST /api/agent/v1/jobs/:jobId/release', async () => given(job).release()],
    ['POST /api/agent/v1/agents/:agentId/claim', async () => (job = await given(agent).take())],
    ['POST /api/agent/v1/jobs/:jobId/result', async () => given(job).result({ owesDocuments: true })],
    ['POST /api/agent/v1/jobs/:jobId/documents', async () => given(job).documents({}, { problem: 'none' })],
    ['POST /api/agent/v1/agents/:agentId/claim', async () => (job = await given(agent).take())],
    ['POST /api/agent/v1/jobs/:jobId/finish', async () => given(job).finish()],
    [
      'POST /api/agent/v1/agents/:agentId/deregister',
      async () => app.request({ method: 'POST', url: `/api/agent/v1/agents/${given(agent).id}/deregister`, token }),
    ],
  ]

  const missed: string[] = []
  for (const [route, step] of steps) {
    await allSignals(app)
    signalled = []
    await step()
    await allSignals(app)
    const expected = AGENT_CHANGES[route]
    const types = signalled.map(({ type }) => type)
    if (expected === 'nothing' ? types.length > 0 : !types.some((type) => type === expected))
      missed.push(`${route}: ${types.join() || 'nothing'}`)
  }

  expect(missed).toEqual([])
})

test('a run trigger deleted with its source is announced to the remaining workspace', async () => {
  const { owner, organization, add, open } = await place()
  const [source, target] = await Promise.all([add(), add()])
  const member = await createUser(app)
  await addMember(app, organization.id, member)
  const reads = { organizationId: organization.id, members: [member], workspaces: { [target.id]: 'read' as const } }
  await createTeamWithAccess(app, reads)
  const sourceable = { data: { type: 'workspaces', id: source.id } }
  const made = await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${target.id}/run-triggers`,
    token: owner.token,
    body: { data: { type: 'run-triggers', relationships: { sourceable } } },
  })
  const { id } = made.json().data
  const stream = await open(member)

  await app.request({ method: 'DELETE', url: `/api/v2/workspaces/${source.id}`, token: owner.token })

  await expect.poll(() => stream.changes).toContainEqual({ type: 'run-triggers', id, workspace: target.id })
})

test('the end of a plan-only run is announced for its workspace, whose figures it changes', async () => {
  const setting = await createRunSetting(app)
  const agent = await createFakeAgent(app)
  const run = await createRun(app, setting, { 'plan-only': true })
  // Jobs of other tests may come first.
  let job = await agent.take()
  while (job.runId !== run) job = await agent.take()
  await allSignals(app)
  signalled = []

  await job.finish({ status: 'errored' })

  await allSignals(app)
  expect(signalled.map(({ type, id }) => `${type} ${id}`)).toContain(`workspaces ${setting.workspaceId}`)
})

test('a request to a receiver is announced before its response', async () => {
  const setting = await createTaskSetting(app)
  startDeliveries(app)
  await addTask(app, setting, { stages: ['pre_plan'] })
  let respond = () => {}
  setting.receiver.onRequest = async (_, response) => {
    await new Promise<void>((resolve) => (respond = resolve))
    response.end()
  }
  signalled = []

  await createRun(app, setting)
  const { payload } = await setting.receiver.received(1)

  await expect
    .poll(() => signalled.map(({ type, id }) => `${type} ${id}`))
    .toContain(`task-results ${payload.task_result_id}`)
  respond()
})

test('the deleted membership of a deleted user is announced to other members', async () => {
  const { owner, organization, open } = await place()
  const member = await createUser(app)
  await addMember(app, organization.id, member)
  const admin = await createUser(app, { isSiteAdmin: true })
  const stream = await open(owner)

  await app.request({ method: 'DELETE', url: `/api/v2/admin/users/${member.id}`, token: admin.token })

  await expect.poll(() => stream.changes.map(({ type }) => type)).toContain('organization-memberships')
})

/** An organization, to which workspaces are added and whose stream is opened. */
async function place() {
  const owner = await createUser(app)
  const organization = await createOrganization(app, owner)
  return { owner, organization, add, open }

  async function add() {
    return createWorkspace(app, { organization: organization.name, actor: owner.actor })
  }
  async function open({ token }: { token: string }) {
    await allSignals(app)
    const stream = await watch(url, organization.name, { token })
    await expect.poll(() => stream.events.map(({ event }) => event)).toEqual(['ready'])
    return stream
  }
}

function isUntold(route: string) {
  return UNTOLD.some((pattern) => pattern.test(route))
}

/** The resource type of an event: `workspace lock` → `workspace`. */
function resourceOf(event: string) {
  return event.split(' ', 1)[0] ?? ''
}
