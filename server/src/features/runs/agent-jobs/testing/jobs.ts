import type { TestApp } from '../../../../testing/app.ts'
import type { FakeAgent } from '../../../../testing/fake-agent.ts'
import { createRun, createRunSetting } from '../../../../testing/runs.ts'

/** A run in a new workspace, and the job of its plan, claimed by the agent. */
export async function startPlan(app: TestApp, agent: FakeAgent, attributes: Record<string, unknown> = {}) {
  const setting = await createRunSetting(app)
  const run = await createRun(app, setting, attributes)
  return { setting, run, job: await agent.take() }
}

/** The log of a phase, as users read it. */
export async function openLog(
  app: TestApp,
  setting: { user: { token: string } },
  { run, phase }: { run: string; phase: 'plan' | 'apply' },
) {
  const { data } = (await app.request({ url: `/api/v2/runs/${run}/${phase}`, token: setting.user.token })).json()
  const path = new URL(data.attributes['log-read-url']).pathname
  return {
    data,
    path,
    read: async (offset: number, limit: number) =>
      (await app.request({ url: `${path}?limit=${limit}&offset=${offset}` })).bytes,
  }
}
