import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createConfigurationVersion, createRunSetting, postRun } from '../../../testing/runs.ts'

const app = await createTestApp()

describe('creating a run', () => {
  test.each([
    [{ 'is-destroy': true, 'refresh-only': true }, 'are mutually exclusive'],
    [{ 'terraform-version': '1.9.0' }, 'only together with plan-only'],
    [{ 'plan-only': true, 'save-plan': true }, 'are mutually exclusive'],
    [{ configurationVersionId: 'cv-nope' }, 'no configuration version cv-nope'],
  ])('with %j is rejected', async (attributes, detail) => {
    const setting = await createRunSetting(app)

    const response = await postRun(app, setting, attributes)

    expect(response.status).toBe(422)
    expect(response.text).toContain(detail)
  })

  test('without any configuration is rejected', async () => {
    const setting = await createRunSetting(app)
    const { id } = await createConfigurationVersion(app, setting)

    const response = await postRun(app, setting, { configurationVersionId: id })

    expect(response.status).toBe(422)
    expect(response.text).toContain('has not been uploaded yet')
  })

  test('of single actions is rejected, since it would run everything', async () => {
    const setting = await createRunSetting(app)

    const response = await postRun(app, setting, { 'invoke-action-addrs': ['action.local_command.a'] })

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe('/data/attributes/invoke-action-addrs')
  })

  test('that destroys is rejected if the workspace forbids it', async () => {
    const setting = await createRunSetting(app, { 'allow-destroy-plan': false })

    expect((await postRun(app, setting, { 'is-destroy': true })).status).toBe(422)
  })

  test('of a workspace with local execution is rejected', async () => {
    const setting = await createRunSetting(app, { 'execution-mode': 'local' })

    const response = await postRun(app, setting)

    expect(response.status).toBe(422)
    expect(response.text).toContain('execution mode local')
  })
})
