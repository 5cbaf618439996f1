import { AGENT_API } from '@groundstate/contract/agent'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { shortLivedContext } from '../../../secrets/sealed.ts'
import { createTestApp } from '../../../testing/app.ts'
import { allowIdle } from '../../../testing/database.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting, EMPTY_ARCHIVE, readRun, readWorkspace } from '../../../testing/runs.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'
import { openLog, startPlan } from './testing/jobs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

describe('a claim', () => {
  test('waits for a job and is woken by it', async () => {
    const setting = await createRunSetting(app)
    const waiting = agent.claim({ waitMs: 10_000 })

    const run = await createRun(app, setting)

    const job = await waiting
    expect(job).toMatchObject({ runId: run, mayApply: true })
    await job?.finish({ hasChanges: false })
  })

  test.each([
    ['requires the engine version that a user has chosen', {}, true],
    [
      'does not require the version that a command line wrote into its new workspace',
      { 'Terraform-Version': '1.2.3' },
      false,
    ],
  ])('%s', async (_, headers, required) => {
    const setting = await createRunSetting(app)
    const res = await app.request({
      method: 'PATCH',
      url: `/api/v2/workspaces/${setting.workspaceId}`,
      token: setting.user.token,
      headers,
      body: { data: { type: 'workspaces', attributes: { 'terraform-version': '1.2.3' } } },
    })
    expect(res.status).toBe(200)

    await createRun(app, setting)
    const job = await agent.take()

    expect(job.engine).toEqual({ product: 'terraform', version: '1.2.3', required })
    await job.finish({ hasChanges: false })
  })

  test('without a job is empty', async () => {
    expect(await agent.claim({ waitMs: 10 })).toBeUndefined()
  })

  test('gets the configuration, options and variables', async () => {
    const setting = await createRunSetting(app)
    const variable = (attributes: Record<string, unknown>) =>
      app.request({
        method: 'POST',
        url: `/api/v2/workspaces/${setting.workspaceId}/vars`,
        token: setting.user.token,
        body: { data: { type: 'vars', attributes } },
      })
    await variable({ key: 'region', value: 'eu', category: 'terraform' })
    await variable({ key: 'size', value: '1', category: 'terraform', hcl: true })
    await createRun(app, setting, {
      'plan-only': true,
      'is-destroy': true,
      'target-addrs': ['a.b'],
      variables: [{ key: 'size', value: '2' }],
    })

    const job = await agent.take()

    expect(job.options).toMatchObject({ isDestroy: true, refresh: true, targetAddrs: ['a.b'] })
    expect(job.mayApply).toBe(false)
    expect(
      job.variables
        .map(({ key, value, hcl }) => [key, value, hcl])
        .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    ).toEqual([
      ['region', 'eu', false],
      ['size', '2', true],
    ])
    expect((await job.configuration()).bytes).toEqual(EMPTY_ARCHIVE)
    await job.finish({ hasChanges: false })
  })

  test('names the providers of the state, if known', async () => {
    const setting = await createRunSetting(app)
    const states = stateClient(app, { id: setting.workspaceId, name: setting.workspaceName }, setting.user.token)
    const take = async () => {
      await createRun(app, setting)
      const job = await agent.take()
      await job.finish({ hasChanges: false })
      return job.stateProviders
    }
    const none = await take()
    await states.lock()
    const version = await states.create(rawState({ resources: ['a', 'b'] }))
    await states.unlock()

    const known = await take()
    await app.db.updateTable('state_versions').set({ providers: null }).where('id', '=', version.id).execute()

    expect(none).toEqual([])
    expect(known).toEqual(['provider["terraform.io/builtin/terraform"]'])
    expect(await take()).toBeUndefined()
  })

  test('accepts only the token of its agent', async () => {
    const { setting, job } = await startPlan(app, agent, { 'plan-only': true })
    const url = `${AGENT_API}/agents/${agent.id}/claim`

    expect((await app.request({ method: 'POST', url, token: setting.user.token, body: { waitMs: 0 } })).status).toBe(
      401,
    )
    expect(
      (
        await app.request({
          method: 'POST',
          url: `${AGENT_API}/agents/agent-x/claim`,
          token: agent.token,
          body: { waitMs: 0 },
        })
      ).status,
    ).toBe(404)
    expect((await app.request({ url: '/api/v2/account/details', token: agent.token })).status).not.toBe(200)
    await job.finish({ hasChanges: false })
  })

  test('of an apply is reserved for the agent of its plan at first', async () => {
    const other = await createFakeAgent(app, { name: 'other' })
    const { job } = await startPlan(app, agent, { 'auto-apply': true })
    await job.finish()

    expect(await other.claim()).toBeUndefined()
    app.clock.advance(1100)
    const apply = await other.claim()

    expect(apply?.runId).toBe(job.runId)
    expect([job.planJobId, apply?.planJobId]).toEqual([undefined, job.id])
    await apply?.finish()
  })
})

test('a run whose variables cannot be decrypted ends and does not block others', async () => {
  const setting = await createRunSetting(app)
  const response = await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${setting.workspaceId}/vars`,
    token: setting.user.token,
    body: { data: { type: 'vars', attributes: { key: 'secret', value: 'x', category: 'env', sensitive: true } } },
  })
  const sealed = app.secrets.seal('x', shortLivedContext('another place'))
  await app.db
    .updateTable('variables')
    .set({ sealed_value: sealed })
    .where('id', '=', response.json().data.id)
    .execute()
  const run = await createRun(app, setting)
  const next = await createRun(app, await createRunSetting(app))

  const job = await agent.take()

  expect(job.runId).toBe(next)
  const { attributes } = await readRun(app, setting, run)
  expect(attributes).toMatchObject({ status: 'errored', 'error-message': expect.stringContaining('Set it again') })
  const log = await openLog(app, setting, { run, phase: 'plan' })
  expect(String(await log.read(0, 1000))).toContain('a sensitive value cannot be decrypted')
  expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  await job.finish({ hasChanges: false })
})

test('a run whose job cannot be created ends and does not block others', async () => {
  const setting = await createRunSetting(app)
  const run = await createRun(app, setting)
  await setVariables(run, [{ key: 1, value: '"x"' }])
  const next = await createRun(app, await createRunSetting(app))

  const job = await agent.take()

  expect(job.runId).toBe(next)
  await setVariables(run, [])
  const { attributes } = await readRun(app, setting, run)
  expect(attributes).toMatchObject({
    status: 'errored',
    'error-message': expect.stringMatching(/^the server cannot create the job for an agent: variables.0.key: /),
  })
  const log = await openLog(app, setting, { run, phase: 'plan' })
  expect(String(await log.read(0, 1000))).toContain('the server cannot create the job')
  expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  await job.finish({ hasChanges: false })
})

async function setVariables(run: string, variables: unknown[]) {
  await app.db
    .updateTable('runs')
    .set({ variables: JSON.stringify(variables) })
    .where('id', '=', run)
    .execute()
}

describe('while the database fails', () => {
  test('a claim gets 503, and no run ends', async () => {
    const run = await createRun(app, await createRunSetting(app))
    await sql`alter table variables rename to variables_away`.execute(app.db)

    const claim = await agent.claim().catch(String)
    await sql`alter table variables_away rename to variables`.execute(app.db)

    expect(claim).toContain('the job queue cannot be read at the moment')
    const job = await agent.take()
    expect(job.runId).toBe(run)
    await job.finish({ hasChanges: false })
  })

  test('a claim gets 503 if the database does not respond', async () => {
    const run = await createRun(app, await createRunSetting(app))

    const claim = await app.db.transaction().execute(async (tx) => {
      await allowIdle(tx)
      await sql`lock table agent_jobs`.execute(tx)
      return agent.claim().catch(String)
    })

    expect(claim).toContain('the job queue cannot be read at the moment')
    const job = await agent.take()
    expect(job.runId).toBe(run)
    await job.finish({ hasChanges: false })
  })
})

test('a job of a server with plain http has the address of its run page', async () => {
  const headers = { 'terraform-version': '1.11.4' }
  const { setting, run, job } = await startPlan(app, agent, { 'plan-only': true, headers })
  const { name } = (await readWorkspace(app, setting)).attributes

  expect(job.pageUrl).toBe(`${app.baseUrl}/app/${setting.organization}/${name}/runs/${run}`)
  await job.finish({ hasChanges: false })
})

test('a run that waits for an agent shows the reason', async () => {
  const setting = await createRunSetting(app)
  app.clock.advance(120_000)

  const run = await createRun(app, setting)

  expect((await readRun(app, setting, run)).attributes['waiting-reason']).toContain(
    'no agent of this server is online: start it with agents, or give the workspace an agent pool, cancel this run and start another',
  )
  await (await agent.take()).finish({ hasChanges: false })
})
