import { describe, expect, test } from 'vitest'
import { taskPayload, type TaskSubject } from './request.ts'

const subject: TaskSubject = {
  id: 'taskrs-1',
  stage: 'post_plan',
  enforcement_level: 'mandatory',
  organization_name: 'main',
  workspace_id: 'ws-1',
  workspace_name: 'web',
  working_directory: '',
  run_id: 'run-1',
  run_created_at: new Date('2026-01-01T12:00:00.5Z'),
  run_message: 'grow',
  username: 'ada',
  plan_only: false,
  plan_id: 'plan-1',
  configuration_version_id: 'cv-1',
  configuration_status: 'uploaded',
  vcs_branch: null,
  vcs_repo_url: null,
  vcs_commit_url: null,
  vcs_pull_request_url: null,
}

describe('INTERFACE §2.3 the request payload', () => {
  test('has no URL for a deleted configuration', () => {
    const deleted = { ...subject, configuration_status: 'backing_data_permanently_deleted' }

    const payload = taskPayload('https://groundstate.example', deleted, 'token')

    expect(payload).toMatchObject({
      configuration_version_id: 'cv-1',
      configuration_version_download_url: null,
    })
  })

  test('has complete URLs behind a proxy with a path prefix', () => {
    const payload = taskPayload('https://example.com/groundstate', subject, 'token')

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
