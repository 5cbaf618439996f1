import { describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { archiveOf } from '../../../testing/archives.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createPolicySet, reportPolicies } from '../../../testing/policies.ts'
import { addWorkspace, put, readWorkspace } from '../../../testing/runs.ts'
import { createTaskSetting } from '../../../testing/task-runs.ts'
import { addMember } from '../../../testing/teams.ts'
import {
  STRICT,
  cancelTrial,
  createPastRun,
  postTrial,
  readTrial,
  readTrialRuns,
  startSetTrial,
  startTrial,
} from './testing/trials.ts'

const app = await createTestApp()

type Setting = Awaited<ReturnType<typeof createTaskSetting>>

/** A member who manages policies, with access to one workspace. */
async function createManager({ organization, user, workspaceId }: Setting, access: 'read' | 'admin') {
  const { attributes } = (await app.request({ url: `/api/v2/organizations/${organization}`, token: user.token })).json()
    .data
  const organizationId = attributes['external-id']
  const manager = await createUser(app)
  await addMember(app, organizationId, manager)
  await createTeamWithAccess(app, {
    organizationId,
    members: [manager],
    organization: { manage_policies: true },
    workspaces: { [workspaceId]: access },
  })
  return manager
}

describe('a trial of an archive', () => {
  test('evaluates it against past runs, which it does not affect', async () => {
    const setting = await createTaskSetting(app)
    const run = await createPastRun(app, setting, { message: 'Grow' })

    const trial = await startTrial(app, setting, { runs: [run] })
    const request = (await setting.agent.claimPolicies())!
    const input = await request.input()
    const archive = await request.archive(request.sets[0]?.id ?? '')
    await reportPolicies(request, { strict: { output: ['a bucket is public'] } })
    await app.runJobs()

    expect(input.json()).toMatchObject({ plan: { format_version: '1.2' }, run: { id: run, message: 'Grow' } })
    expect(archive.status).toBe(200)
    expect((await readTrial(app, setting, trial)).attributes).toMatchObject({
      status: 'finished',
      source: 'upload',
      'run-counts': { total: 1, evaluated: 1, passed: 0, warned: 0, stopped: 1, errored: 0 },
    })
    expect(await readTrialRuns(app, setting, trial)).toMatchObject([
      {
        attributes: {
          status: 'stopped',
          error: null,
          outcomes: [{ policy_name: 'strict', status: 'failed', output: [{ print: 'a bucket is public' }] }],
          result_count: { 'mandatory-failed': 1 },
          'policy-tool-version': '1.4.2',
          'workspace-name': setting.workspaceName,
          'run-message': 'Grow',
        },
        relationships: { run: { data: { id: run, type: 'runs' } } },
      },
    ])
  })

  test('gets the parameters of a set, with the names of sensitive ones', async () => {
    const setting = await createTaskSetting(app)
    const set = await createPolicySet(app, setting, { global: false, policies: [] })
    const attributes = { key: 'team', value: 'ops', category: 'policy-set', sensitive: true }
    await app.request({
      method: 'POST',
      url: `/api/v2/policy-sets/${set}/parameters`,
      token: setting.user.token,
      body: { data: { type: 'vars', attributes } },
    })
    const run = await createPastRun(app, setting)

    await startTrial(app, setting, { runs: [run], set })
    const request = (await setting.agent.claimPolicies())!

    expect(request.sets).toMatchObject([{ parameters: { team: 'ops' }, sensitiveParameters: ['team'] }])
    await reportPolicies(request)
  })

  test('that is not valid says why, and ends as errored', async () => {
    const setting = await createTaskSetting(app)
    const run = await createPastRun(app, setting)
    const { id, links } = (await postTrial(app, setting, { runs: [run] })).json().data

    const uploaded = await put(app, links.upload, archiveOf({ 'sentinel.hcl': '' }))

    const message = expect.stringMatching(/^the root of the archive has sentinel.hcl: Sentinel is not supported/)
    expect([uploaded.status, uploaded.json().errors[0].detail]).toEqual([422, message])
    const { attributes, links: shown } = await readTrial(app, setting, id)
    expect(attributes).toMatchObject({ status: 'errored', 'error-message': message })
    expect(shown.upload).toBeUndefined()
    expect((await put(app, links.upload, archiveOf({}))).status).toBe(409)
  })

  test('is not uploaded with the URL of a token that is deleted', async () => {
    const setting = await createTaskSetting(app)
    const set = await createPolicySet(app, setting, { policies: [{}] })
    const url = `/api/v2/organizations/${setting.organization}/authentication-token`
    const owner = setting.user.token
    const { token } = (await app.request({ method: 'POST', url, token: owner, body: { data: {} } })).json().data
      .attributes
    const { links } = (await postTrial(app, setting, { set, token })).json().data
    await app.request({ method: 'DELETE', url, token: owner })

    const refused = await put(app, links.upload, STRICT)

    expect([refused.status, refused.json().errors[0].detail]).toEqual([
      403,
      'the account or token of this upload URL is deleted or suspended: get a new URL',
    ])
  })

  test('is created for runs whose plan the caller may read only', async () => {
    const setting = await createTaskSetting(app)
    const run = await createPastRun(app, setting)
    const reader = await createManager(setting, 'read')
    const admin = await createManager(setting, 'admin')
    const stranger = await createTaskSetting(app)
    const other = await createPastRun(app, stranger)
    const post = async (token: string, runs: string[]) => postTrial(app, setting, { runs, token })

    const refused = await post(reader.token, [run])
    const foreign = await post(setting.user.token, [run, other])

    expect(refused.status).toBe(404)
    expect(refused.json().errors[0]).toMatchObject({
      detail: `plan of the run ${run} not found, or you are not authorized to see it`,
      source: { pointer: '/data/relationships/runs/data/0/id' },
    })
    expect(foreign.json().errors[0].source.pointer).toBe('/data/relationships/runs/data/1/id')
    expect((await post(admin.token, [run])).status).toBe(201)
    expect((await post(stranger.user.token, [other])).status).toBe(404)
  })

  test.each([
    ['no runs', {}, /^runs are missing: name the runs, or the policy set/],
    [
      'an unknown version of OPA',
      { runs: ['run-1'], attributes: { 'policy-tool-version': '9.9.9' } },
      /^policy-tool-version is "9\.9\.9"/,
    ],
    [
      'a path out of the archive',
      { runs: ['run-1'], attributes: { 'policies-path': '../x' } },
      /must be a directory in the archive/,
    ],
    ['an empty list', { runs: [] }, /data is empty: at least one run is needed/],
    ['too many runs', { runs: Array.from({ length: 101 }, (_, index) => `run-${index}`) }, /100/],
  ])('with %s is refused', async (_, named, detail) => {
    const setting = await createTaskSetting(app)

    const refused = await postTrial(app, setting, named)

    expect([refused.status, refused.json().errors[0].detail]).toEqual([422, expect.stringMatching(detail)])
  })

  test('reports runs without a plan in JSON as errored', async () => {
    const setting = await createTaskSetting(app)
    const run = await createPastRun(app, setting)
    await app.db.updateTable('phases').set({ json_deleted_at: app.clock.now() }).where('run_id', '=', run).execute()

    const trial = await startTrial(app, setting, { runs: [run] })

    expect((await readTrial(app, setting, trial)).attributes).toMatchObject({
      status: 'finished',
      'run-counts': { total: 1, evaluated: 1, errored: 1 },
    })
    const [result] = await readTrialRuns(app, setting, trial)
    expect(result.attributes.error).toBe(`the JSON of the plan of ${run} is no longer kept`)
  })
})

describe('a trial of a set', () => {
  test('evaluates it against the runs of the last 30 days to which it applies', async () => {
    const old = await createTaskSetting(app)
    await createPastRun(app, old)
    app.clock.advance(31 * 86_400_000)
    const setting = { ...old, agent: await createFakeAgent(app) }
    const other = { ...(await addWorkspace(app, setting)), agent: setting.agent }
    const [first, second] = [await createPastRun(app, setting), await createPastRun(app, setting)]
    await createPastRun(app, other)
    const unkept = await createPastRun(app, setting)
    await app.db.updateTable('phases').set({ json_deleted_at: app.clock.now() }).where('run_id', '=', unkept).execute()
    const set = await createPolicySet(app, setting, { policies: [{ name: 'hint', level: 'advisory' }] })
    await app.request({
      method: 'POST',
      url: `/api/v2/policy-sets/${set}/relationships/workspace-exclusions`,
      token: setting.user.token,
      body: { data: [{ type: 'workspaces', id: other.workspaceId }] },
    })

    const trial = await startSetTrial(app, setting, set)
    const requests = [(await setting.agent.claimPolicies())!, (await setting.agent.claimPolicies())!]
    for (const request of requests) await reportPolicies(request, { hint: { output: ['no owner'] } })
    await app.runJobs()

    const { attributes } = await readTrial(app, setting, trial)
    expect(attributes).toMatchObject({
      status: 'finished',
      source: 'policy-set',
      'policy-set-name': 'rules',
      'run-counts': { total: 2, warned: 2 },
      'omitted-runs': { unreadable: 0, 'without-plan': 1, older: 0 },
    })
    const results = await readTrialRuns(app, setting, trial, '?filter[status]=warned')
    expect(results.map((one: any) => one.relationships.run.data.id)).toEqual([second, first])
    expect(await readTrialRuns(app, setting, trial, '?filter[status]=stopped,errored')).toEqual([])
    const list = await app.request({ url: `/api/v2/policy-sets/${set}/policy-trials`, token: setting.user.token })
    expect(list.json().data.map(({ id }: { id: string }) => id)).toEqual([trial])
  })

  test('leaves out runs whose plan the caller may not read, and shows each reader only theirs', async () => {
    const setting = await createTaskSetting(app)
    const other = { ...(await addWorkspace(app, setting)), agent: setting.agent }
    const [mine] = [await createPastRun(app, setting), await createPastRun(app, other)]
    const set = await createPolicySet(app, setting, { policies: [{}] })
    const manager = await createManager(setting, 'admin')

    const limited = await startSetTrial(app, { user: manager }, set)
    await cancelTrial(app, setting, limited)
    const full = await startSetTrial(app, setting, set)

    const { attributes } = await readTrial(app, setting, limited)
    expect(attributes).toMatchObject({ 'run-counts': { total: 1 }, 'omitted-runs': { unreadable: 1 } })
    expect(await readTrialRuns(app, setting, full)).toHaveLength(2)
    const results = await readTrialRuns(app, { user: manager }, full)
    expect(results.map((one: any) => one.relationships.run.data.id)).toEqual([mine])
    await cancelTrial(app, setting, full)
  })

  test('finishes at once without runs', async () => {
    const setting = await createTaskSetting(app)
    const set = await createPolicySet(app, setting, { policies: [{}] })

    const trial = await startSetTrial(app, setting, set)

    expect((await readTrial(app, setting, trial)).attributes).toMatchObject({
      status: 'finished',
      'run-counts': { total: 0 },
    })
  })

  test('needs policies, and runs once at a time', async () => {
    const setting = await createTaskSetting(app)
    await createPastRun(app, setting)
    const empty = await createPolicySet(app, setting, { name: 'empty', policies: [] })
    const set = await createPolicySet(app, setting, { policies: [{}] })
    const post = async (id: string) =>
      app.request({ method: 'POST', url: `/api/v2/policy-sets/${id}/policy-trials`, token: setting.user.token })

    const without = await post(empty)
    const trial = await startSetTrial(app, setting, set)
    const second = await post(set)

    expect([without.status, without.json().errors[0].detail]).toEqual([
      422,
      expect.stringMatching(/^the set empty has no policies yet/),
    ])
    expect([second.status, second.json().errors[0].detail]).toEqual([
      409,
      'a trial of the set rules is running: wait until it has finished, or cancel it',
    ])
    expect((await cancelTrial(app, setting, trial)).json().data.attributes.status).toBe('canceled')
    expect((await cancelTrial(app, setting, trial)).status).toBe(409)
    expect(await setting.agent.claimPolicies()).toBeUndefined()
    expect((await readWorkspace(app, setting)).attributes.name).toBe(setting.workspaceName)
  })
})
