import type { TestApp, TestResponse } from '../../../../testing/app.ts'
import { archiveOf } from '../../../../testing/archives.ts'
import type { FakeAgent } from '../../../../testing/fake-agent.ts'
import { createRun, put, type RunSetting } from '../../../../testing/runs.ts'
import { finishNextJob } from '../../../../testing/task-runs.ts'

const DEFINITION = 'policy "strict" {\n  query = "data.strict.deny"\n  enforcement_level = "mandatory"\n}\n'
export const STRICT = archiveOf({ 'policies.hcl': DEFINITION, 'strict.rego': 'package strict\n' })

type Setting = RunSetting & { agent: FakeAgent }

/** A finished run, whose plan is kept. */
export async function createPastRun(app: TestApp, setting: Setting, attributes: Record<string, unknown> = {}) {
  const run = await createRun(app, setting, { 'plan-only': true, ...attributes })
  await finishNextJob(setting.agent, run)
  return run
}

type Named = { runs?: readonly string[]; set?: string; attributes?: object; token?: string }

/** Requests a trial of an archive. */
export async function postTrial(app: TestApp, setting: RunSetting, named: Named): Promise<TestResponse> {
  const { runs, set, attributes = {}, token = setting.user.token } = named
  return app.request({
    method: 'POST',
    url: `/api/v2/organizations/${setting.organization}/policy-trials`,
    token,
    body: {
      data: {
        type: 'policy-trials',
        attributes,
        relationships: {
          ...(runs && { runs: { data: runs.map((id) => ({ type: 'runs', id })) } }),
          ...(set !== undefined && { 'policy-set': { data: { type: 'policy-sets', id: set } } }),
        },
      },
    },
  })
}

/** Starts a trial of an archive with a mandatory policy. */
export async function startTrial(app: TestApp, setting: RunSetting, named: Named, archive = STRICT): Promise<string> {
  const created = await postTrial(app, setting, named)
  if (created.status !== 201) throw new Error(`the trial was refused: ${created.text}`)
  const { id, links } = created.json().data
  const uploaded = await put(app, links.upload, archive)
  if (uploaded.status !== 200) throw new Error(`the archive was refused: ${uploaded.text}`)
  await app.runJobs()
  return id
}

/** Starts a trial of a set with the runs of the last 30 days. */
export async function startSetTrial(app: TestApp, { user }: Pick<RunSetting, 'user'>, set: string): Promise<string> {
  const url = `/api/v2/policy-sets/${set}/policy-trials`
  const created = await app.request({ method: 'POST', url, token: user.token })
  if (created.status !== 201) throw new Error(`the trial was refused: ${created.text}`)
  await app.runJobs()
  return created.json().data.id
}

export async function readTrial(app: TestApp, { user }: Pick<RunSetting, 'user'>, id: string) {
  return (await app.request({ url: `/api/v2/policy-trials/${id}`, token: user.token })).json().data
}

export async function readTrialRuns(app: TestApp, { user }: Pick<RunSetting, 'user'>, id: string, query = '') {
  return (await app.request({ url: `/api/v2/policy-trials/${id}/runs${query}`, token: user.token })).json().data
}

export async function cancelTrial(app: TestApp, { user }: Pick<RunSetting, 'user'>, id: string) {
  return app.request({ method: 'POST', url: `/api/v2/policy-trials/${id}/actions/cancel`, token: user.token })
}
