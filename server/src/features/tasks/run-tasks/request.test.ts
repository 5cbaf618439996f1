import { describe, expect, test } from 'vitest'
import { taskPayload, type TaskSubject } from './request.ts'

const subject: TaskSubject = {
  stage: 'post_plan',
  accessToken: 'token',
  enforcementLevel: 'mandatory',
  taskResultId: 'taskrs-1',
  organizationName: 'main',
  workspace: { id: 'ws-1', name: 'web', workingDirectory: '' },
  run: {
    id: 'run-1',
    createdAt: new Date('2026-01-01T12:00:00.5Z'),
    createdBy: 'ada',
    message: 'grow',
    speculative: false,
    planId: 'plan-1',
    configurationVersionId: 'cv-1',
    hasConfiguration: true,
  },
}

describe('INTERFACE §2.3 the request payload', () => {
  test('has no URL for a configuration that is not kept any more', () => {
    const run = { ...subject.run, hasConfiguration: false }

    const payload = taskPayload('https://groundstate.example', { ...subject, run })

    expect(payload).toMatchObject({
      configuration_version_id: 'cv-1',
      configuration_version_download_url: null,
    })
  })

  test('keeps its URLs whole below the path of a proxy', () => {
    const payload = taskPayload('https://example.com/groundstate', subject)

    const urls = Object.entries(payload).filter(([key, value]) => key.endsWith('_url') && value !== null)
    expect(urls.map(([key]) => key)).toEqual([
      'configuration_version_download_url',
      'plan_json_api_url',
      'run_app_url',
      'task_result_callback_url',
      'workspace_app_url',
    ])
    const others = urls.filter(([, value]) => !JSON.stringify(value).startsWith('"https://example.com/groundstate/'))
    expect(others).toEqual([])
  })
})
