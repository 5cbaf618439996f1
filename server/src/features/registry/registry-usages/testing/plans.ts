import type { InstalledParts } from '@groundstate/contract/agent'
import type { TestApp } from '../../../../testing/app.ts'
import type { FakeAgent } from '../../../../testing/fake-agent.ts'
import { type RunSetting, createRun } from '../../../../testing/runs.ts'

/** Runs a plan that has installed these parts of the registry; nothing is applied. */
export async function planWith(
  app: TestApp,
  agent: FakeAgent,
  {
    setting,
    installed,
    attributes,
  }: {
    setting: RunSetting
    installed: Partial<InstalledParts> | undefined
    attributes?: Record<string, unknown>
  },
) {
  const run = await createRun(app, setting, attributes)
  const parts = installed && { installed: { modules: [], providers: [], ...installed } }
  const response = await (await agent.take()).finish({ hasChanges: false, ...parts })
  if (response.status !== 204) throw new Error(`the plan was not finished: ${response.text}`)
  return run
}
