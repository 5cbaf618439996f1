import { AGENT_API, engineResponsesHeader } from '@groundstate/contract/agent'
import { openEnvelope } from '@groundstate/contract/envelope'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { type FakeJob, createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting } from '../../../testing/runs.ts'
import { download, rawState, stateClient } from '../../../testing/state-versions.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

async function responsesOf(job: FakeJob) {
  const response = await app.request({ url: `${AGENT_API}/jobs/${job.id}/engine-answers`, token: job.token })
  expect(response.status).toBe(200)
  const envelope = openEnvelope(response.bytes)
  const header = engineResponsesHeader.parse(envelope?.header)
  let rest = Buffer.from(envelope?.content ?? [])
  const take = (size: number) => {
    const chunk = rest.subarray(0, size)
    rest = rest.subarray(size)
    return chunk
  }
  const responses = header.responses.map((response) => ({ ...response, body: take(response.size).toString() }))
  return { responses, state: header.state && { url: header.state.url, content: take(header.state.size) } }
}

/** A body without the ends of its signed URLs, which depend on the time. */
const unsigned = (body: string) => body.replaceAll(/(\/object\/[\w-]+)\.[\w.-]+/g, '$1')

/** A job of a run in a workspace with or without a state. */
async function startJob({ state }: { state?: Buffer } = {}, attributes: Record<string, unknown> = {}) {
  const setting = await createRunSetting(app)
  const workspace = { id: setting.workspaceId, name: setting.workspaceName }
  if (state !== undefined) {
    const user = stateClient(app, workspace, setting.user.token)
    const lock = (action: string) => user.request('POST', `/workspaces/${workspace.id}/actions/${action}`, {})
    await lock('lock')
    await user.create(state)
    await lock('unlock')
  }
  const run = await createRun(app, setting, attributes)
  return { setting, run, job: await agent.take() }
}

const PATHS = (job: FakeJob) => [
  'ping',
  `organizations/${job.organizationName}/entitlement-set`,
  `organizations/${job.organizationName}/workspaces/${job.workspaceName}`,
  `workspaces/${job.workspaceId}/current-state-version`,
]

describe('the prepared responses of a job', () => {
  test.each([
    ['with a state', rawState({ serial: 3, resources: ['a'], outputs: { x: 'y' } })],
    ['without one', undefined],
  ])('equal those of the public API, in a workspace %s', async (_, state) => {
    const { job } = await startJob(state === undefined ? {} : { state })

    const { responses } = await responsesOf(job)

    expect(responses.map(({ path }) => path)).toEqual(PATHS(job))
    for (const { path, status, body, headers } of responses) {
      const shown = await app.request({ url: `/api/v2/${path}`, token: job.engineToken })
      expect({ path, status, body: unsigned(body) }).toEqual({
        path,
        status: shown.status,
        body: unsigned(shown.text),
      })
      expect(shown.headers).toMatchObject(headers)
    }
  })

  test('include the content of the state', async () => {
    const raw = rawState({ serial: 3, resources: ['a'] })
    const { job } = await startJob({ state: raw })

    const { state } = await responsesOf(job)

    expect(state?.content).toEqual(raw)
    expect((await download(app, state?.url ?? '')).bytes).toEqual(raw)
  })

  test('omit the content of a large state', async () => {
    const { job } = await startJob({ state: rawState({ serial: 3, outputs: { x: 'y'.repeat(1024 * 1024) } }) })

    const { responses, state } = await responsesOf(job)

    expect(responses.map(({ path }) => path)).toEqual(PATHS(job))
    expect(state).toBeUndefined()
  })

  test('omit the state if the run does not hold the workspace lock', async () => {
    const { job } = await startJob({ state: rawState({ serial: 3 }) }, { 'plan-only': true })

    const { responses, state } = await responsesOf(job)

    expect(responses.map(({ path }) => path)).toEqual(PATHS(job).slice(0, 3))
    expect(state).toBeUndefined()
  })

  test('are only for the agent of a running job', async () => {
    const { job } = await startJob()
    const url = `${AGENT_API}/jobs/${job.id}/engine-answers`

    expect((await app.request({ url, token: job.engineToken })).status).toBe(401)
    await job.finish({ status: 'canceled' })
    expect((await app.request({ url, token: job.token })).status).toBe(409)
  })
})
