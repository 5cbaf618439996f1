import type { TestApp } from '../../../../testing/app.ts'
import type { FakeAgent } from '../../../../testing/fake-agent.ts'
import { createRun, readRun, type RunSetting } from '../../../../testing/runs.ts'

type Workspace = Pick<RunSetting, 'user' | 'workspaceId'>

/** Requests a run trigger from `source` to `destination`, by default as the user of the destination. */
export async function postTrigger(
  app: TestApp,
  destination: Workspace,
  { sourceId, token, body }: { sourceId?: string; token?: string; body?: unknown },
) {
  return app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${destination.workspaceId}/run-triggers`,
    token: token ?? destination.user.token,
    body: body ?? {
      data: { type: 'run-triggers', relationships: { sourceable: { data: { type: 'workspaces', id: sourceId } } } },
    },
  })
}

/** Lets applies of `source` start runs in `destination`; returns the trigger's id. */
export async function connect(
  app: TestApp,
  source: Pick<Workspace, 'workspaceId'>,
  destination: Workspace,
): Promise<string> {
  const response = await postTrigger(app, destination, { sourceId: source.workspaceId })
  if (response.status !== 201) throw new Error(`the trigger was refused: ${response.text}`)
  return response.json().data.id
}

/** Finishes the plan and the apply of the next run in the queue. */
export async function finishRun(agent: FakeAgent) {
  await (await agent.take()).finish()
  await (await agent.take()).finish()
}

/** Creates an auto-applied run that succeeds; returns its id. */
export async function applyRun(app: TestApp, agent: FakeAgent, source: Workspace): Promise<string> {
  const run = await createRun(app, source, { 'auto-apply': true })
  await finishRun(agent)
  return run
}

/** Advances the test's clock until the triggers of all applies have fired. */
export async function fire(app: TestApp) {
  app.clock.advance(app.config.triggerDelay + 1)
  await app.runJobs()
}

/** The triggered runs of a workspace, newest first, as the API shows them. */
export async function listTriggered(app: TestApp, { user, workspaceId }: Workspace): Promise<any[]> {
  const url = `/api/v2/workspaces/${workspaceId}/runs?filter[source]=tfe-run-trigger`
  return (await app.request({ url, token: user.token })).json().data
}

/** The descriptions of a run's events about skipped firings. */
export async function listSkips(app: TestApp, source: Pick<Workspace, 'user'>, run: string): Promise<string[]> {
  const { data } = (await app.request({ url: `/api/v2/runs/${run}/run-events`, token: source.user.token })).json()
  return data
    .filter((event: any) => event.attributes.action === 'trigger_skipped')
    .map((event: any) => event.attributes.description)
}

/** Attributes of the chain of a run. */
export async function readChain(app: TestApp, token: string, run: string) {
  const response = await app.request({ url: `/api/v2/runs/${run}/trigger-chain`, token })
  return response.json().data.attributes
}

/** Confirms and applies a run. */
export async function confirm(app: TestApp, source: Pick<Workspace, 'user'>, agent: FakeAgent, run: string) {
  await app.request({ method: 'POST', url: `/api/v2/runs/${run}/actions/apply`, token: source.user.token, body: {} })
  await (await agent.take()).finish()
  return readRun(app, source, run)
}

/** Ends all queued jobs, so that the next claim gets the job of the next run. */
export async function endJobs(agent: FakeAgent) {
  for (let job = await agent.claim(); job; job = await agent.claim())
    await job.finish({ status: 'errored', exitCode: 1 })
}
