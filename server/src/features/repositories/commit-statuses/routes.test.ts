import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting } from '../../../testing/runs.ts'
import { expireReports } from './jobs.ts'
import { SHA, connectHost, giteaRoutes, pushOf, statusRoute } from './testing/commits.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const agent = await createFakeAgent(app)

/** A run whose commit has a status at its host. */
async function reportRun(
  reply: { status: number; body: object } = { status: 201, body: { id: 1 } },
  { isSiteAdmin = true } = {},
) {
  const connected = await connectHost(app, giteaRoutes(), { isSiteAdmin })
  connected.host.reply(statusRoute(SHA.head), reply)
  const workspace = await connected.addWorkspace()
  const runId = await connected.startRun(workspace.id, pushOf(SHA.head))
  await (await agent.take()).finish({ hasChanges: false })
  await connected.runJobs()
  const list = async (token = connected.owner.token, query = '') =>
    app.request({ url: `/api/v2/workspaces/${workspace.id}/commit-status-deliveries${query}`, token })
  const resend = async (token = connected.owner.token) =>
    app.request({ method: 'POST', url: `/api/v2/runs/${runId}/actions/resend-commit-status`, token })
  return { ...connected, workspace, runId, list, resend }
}

test('each request that set a status is listed with its response, without the token', async () => {
  const { runId, host, list } = await reportRun()

  const { data } = (await list()).json()

  expect(data).toHaveLength(1)
  expect(data[0]).toMatchObject({
    attributes: {
      'commit-sha': SHA.head,
      kind: 'run',
      status: 'succeeded',
      request: { method: 'POST', url: `${host.url}${statusRoute(SHA.head).slice('POST '.length)}` },
      response: { status: 201, body: '{"id":1}', 'is-withheld': false },
      error: null,
    },
    relationships: { run: { data: { id: runId } } },
  })
  expect(JSON.parse(data[0].attributes.request.body)).toMatchObject({ state: 'success', description: 'no changes' })
  expect(JSON.stringify(data)).not.toContain('gta_secret')
})

test('a response from a private address is withheld from all but site administrators', async () => {
  const { list } = await reportRun({ status: 403, body: { message: 'not a writer' } }, { isSiteAdmin: false })

  const { data } = (await list()).json()

  expect(data[0].attributes).toMatchObject({
    status: 'failed',
    response: { status: 403, body: '', headers: {}, 'is-withheld': true },
  })
})

test('the list can be restricted to a run', async () => {
  const { runId, list } = await reportRun()

  const [own, other] = [await list(undefined, `?filter[run]=${runId}`), await list(undefined, '?filter[run]=run-x')]

  expect([own.json().data.length, other.json().data.length]).toEqual([1, 0])
})

test('a status is set again on request, also if the host has it', async () => {
  const { host, resend, runJobs, list } = await reportRun()

  const response = await resend()
  await runJobs()

  expect(response.status).toBe(202)
  expect(host.bodies(statusRoute(SHA.head))).toHaveLength(2)
  expect((await list()).json().data).toHaveLength(2)
})

test('a run without a commit has no status to set again', async () => {
  const setting = await createRunSetting(app)
  const id = await createRun(app, setting)

  const response = await app.request({
    method: 'POST',
    url: `/api/v2/runs/${id}/actions/resend-commit-status`,
    token: setting.user.token,
  })

  expect(response.status).toBe(409)
  expect(response.json().errors[0].detail).toContain(`the run ${id} has no commit status`)
})

test('users who may not see the workspace see neither its requests nor its runs', async () => {
  const { list, resend } = await reportRun()
  const stranger = await createUser(app)

  expect([(await list(stranger.token)).status, (await resend(stranger.token)).status]).toEqual([404, 404])
})

test('deliveries expire', async () => {
  const { list } = await reportRun()

  app.clock.advance(400 * 86_400_000)
  await expireReports(app.as(), new AbortController().signal)

  expect((await list()).json().data).toEqual([])
})
