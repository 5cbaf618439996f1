import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createPolicySet, reportPolicies } from '../../../testing/policies.ts'
import { createRun } from '../../../testing/runs.ts'
import { createTaskSetting, finishNextJob } from '../../../testing/task-runs.ts'
import { advanceTrialJob } from './evaluate.ts'
import { expireTrials, resumeTrials, sweepTrials } from './jobs.ts'
import { cancelTrial, createPastRun, postTrial, readTrial, readTrialRuns, startTrial } from './testing/trials.ts'

const app = await createTestApp()

type Setting = Awaited<ReturnType<typeof createTaskSetting>>

async function createPastRuns(setting: Setting, count: number) {
  const runs: string[] = []
  while (runs.length < count) runs.push(await createPastRun(app, setting))
  return runs
}

const countsOf = async (setting: Setting, trial: string) =>
  (await readTrial(app, setting, trial)).attributes['run-counts']

const signal = new AbortController().signal

test('a trial has four requests at a time, and each result queues the next', async () => {
  const setting = await createTaskSetting(app)
  const runs = await createPastRuns(setting, 6)
  const trial = await startTrial(app, setting, { runs })

  const requests = []
  for (let next = await setting.agent.claimPolicies(); next; next = await setting.agent.claimPolicies())
    requests.push(next)
  await reportPolicies(requests[0]!)
  await app.runJobs()
  const fifth = await setting.agent.claimPolicies()
  const sixth = await setting.agent.claimPolicies()

  expect(requests).toHaveLength(4)
  expect((await fifth?.input())?.json().run.id).toBe(runs[4])
  expect(sixth).toBeUndefined()
  expect(await countsOf(setting, trial)).toMatchObject({ total: 6, evaluated: 1, passed: 1 })
  for (const request of [...requests.slice(1), fifth!]) await reportPolicies(request)
  await app.runJobs()
  await reportPolicies((await setting.agent.claimPolicies())!)
  await app.runJobs()
  expect((await readTrial(app, setting, trial)).attributes).toMatchObject({
    status: 'finished',
    'run-counts': { passed: 6 },
  })
})

test('agents evaluate the policies of runs before those of trials', async () => {
  const setting = await createTaskSetting(app)
  const trial = await startTrial(app, setting, { runs: await createPastRuns(setting, 2) })
  await createPolicySet(app, setting, { policies: [{}] })
  const run = await createRun(app, setting)
  await finishNextJob(setting.agent, run)
  await app.runJobs()

  const request = (await setting.agent.claimPolicies())!

  expect((await request.input()).json().run.id).toBe(run)
  await reportPolicies(request)
  await cancelTrial(app, setting, trial)
})

test('a repeated job changes nothing', async () => {
  const setting = await createTaskSetting(app)
  const trial = await startTrial(app, setting, { runs: await createPastRuns(setting, 1) })
  const request = (await setting.agent.claimPolicies())!

  for (const { id } of [{ id: trial }, { id: trial }]) await app.jobs.enqueue(app.db, advanceTrialJob, { id })
  await app.runJobs()

  expect(await setting.agent.claimPolicies()).toBeUndefined()
  expect(await readTrial(app, setting, trial)).toMatchObject({ attributes: { status: 'running' } })
  expect((await request.input()).status).toBe(200)
  await reportPolicies(request)
  await app.runJobs()
  expect(await countsOf(setting, trial)).toMatchObject({ evaluated: 1 })
})

test('policies that cannot be evaluated are reported by their level', async () => {
  const setting = await createTaskSetting(app)
  const trial = await startTrial(app, setting, { runs: await createPastRuns(setting, 1) })

  const message = 'strict.rego:3: rego_type_error'
  await reportPolicies((await setting.agent.claimPolicies())!, { strict: { status: 'errored', message } })
  await app.runJobs()

  const [{ attributes }] = await readTrialRuns(app, setting, trial)
  expect(attributes).toMatchObject({ status: 'errored', error: null, outcomes: [{ error: message }] })
})

test('without an agent, all runs of the pool end after two minutes with the reason', async () => {
  const setting = await createTaskSetting(app)
  const runs = await createPastRuns(setting, 6)
  app.clock.advance(3_600_000)
  const trial = await startTrial(app, setting, { runs })

  app.clock.advance(2 * 60_000 + 1000)
  await app.runJobs()

  const { attributes } = await readTrial(app, setting, trial)
  expect(attributes).toMatchObject({ status: 'finished', 'run-counts': { total: 6, errored: 6 } })
  const results = await readTrialRuns(app, setting, trial)
  expect(new Set(results.map((one: any) => one.attributes.error))).toEqual(
    new Set([
      expect.stringMatching(/^no agent of the pool .+ evaluated the policies within 2 minutes: none .+ is online$/),
    ]),
  )
})

test('a lost agent is replaced, and its result no longer expected', async () => {
  const setting = { ...(await createTaskSetting(app)), agent: await createFakeAgent(app) }
  const trial = await startTrial(app, setting, { runs: await createPastRuns(setting, 1) })
  const lost = (await setting.agent.claimPolicies())!
  app.clock.advance(60_000)

  const again = (await (await createFakeAgent(app)).claimPolicies())!

  expect(again.id).toBe(lost.id)
  expect((await reportPolicies(lost)).status).toBe(401)
  expect((await reportPolicies(again)).status).toBe(204)
  await app.runJobs()
  expect(await countsOf(setting, trial)).toMatchObject({ passed: 1 })
})

test('a trial whose last run was deleted finishes', async () => {
  const setting = { ...(await createTaskSetting(app)), agent: await createFakeAgent(app) }
  const trial = await startTrial(app, setting, { runs: await createPastRuns(setting, 1) })
  const request = (await setting.agent.claimPolicies())!
  const url = `/api/v2/workspaces/${setting.workspaceId}`
  await app.request({ method: 'DELETE', url, token: setting.user.token })

  app.clock.advance(11 * 60_000)
  await resumeTrials(app.as())
  await app.runJobs()

  expect((await reportPolicies(request)).status).toBe(401)
  expect((await readTrial(app, setting, trial)).attributes).toMatchObject({
    status: 'finished',
    'run-counts': { total: 0 },
  })
})

test('a trial of a deleted set is gone, and agents drop its requests', async () => {
  const setting = { ...(await createTaskSetting(app)), agent: await createFakeAgent(app) }
  const set = await createPolicySet(app, setting, { global: false, policies: [] })
  const trial = await startTrial(app, setting, { runs: await createPastRuns(setting, 1), set })
  const request = (await setting.agent.claimPolicies())!

  await app.request({ method: 'DELETE', url: `/api/v2/policy-sets/${set}`, token: setting.user.token })

  const shown = await app.request({ url: `/api/v2/policy-trials/${trial}`, token: setting.user.token })
  expect([shown.status, (await reportPolicies(request)).status]).toEqual([404, 401])
})

test('trials without an archive end, and old ones are deleted with theirs', async () => {
  const setting = { ...(await createTaskSetting(app)), agent: await createFakeAgent(app) }
  const runs = await createPastRuns(setting, 1)
  const abandoned = (await postTrial(app, setting, { runs })).json().data
  const kept = await startTrial(app, setting, { runs })
  const key = (
    await app.db.selectFrom('policy_trials').select('blob_key').where('id', '=', kept).executeTakeFirstOrThrow()
  ).blob_key!

  app.clock.advance(2 * 3_600_000 + 1000)
  await resumeTrials(app.as())
  const late = await app.request({
    method: 'PUT',
    url: new URL(abandoned.links.upload).pathname,
    body: Buffer.from('x'),
  })
  expect(late.status).toBe(403)
  expect((await readTrial(app, setting, abandoned.id)).attributes).toMatchObject({
    status: 'errored',
    'error-message': 'the archive was not uploaded within an hour: create a new trial',
  })
  await sweepTrials(app.as(), signal)
  expect(await app.blobs.stat(key)).toBeDefined()

  app.clock.advance(30 * 86_400_000)
  await expireTrials(app.as(), signal)

  expect(await readTrial(app, setting, kept)).toBeUndefined()
  expect(await app.blobs.stat(key)).toBeUndefined()
})

test('outputs of a run are kept up to a limit, and the others counted', async () => {
  const setting = { ...(await createTaskSetting(app)), agent: await createFakeAgent(app) }
  const trial = await startTrial(app, setting, { runs: await createPastRuns(setting, 1) })
  const output = Array.from({ length: 100 }, () => 'x'.repeat(4000))

  await reportPolicies((await setting.agent.claimPolicies())!, { strict: { output } })
  await app.runJobs()

  const [{ attributes }] = await readTrialRuns(app, setting, trial)
  expect(attributes.outcomes[0].output).toHaveLength(25)
  expect(attributes.outcomes[0].omitted).toBe(75)
})
