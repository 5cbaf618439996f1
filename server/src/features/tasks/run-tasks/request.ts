import { createHmac } from 'node:crypto'
import type { Stage } from '@groundstate/contract/run-tasks'

/** The payload of a request to a receiver (INTERFACE §2.3). The version control fields are always null. */
export type TaskPayload = {
  payload_version: 1
  stage: Stage
  access_token: string
  capabilities: { outcomes: boolean }
  configuration_version_download_url: string | null
  configuration_version_id: string
  is_speculative: boolean
  organization_name: string
  plan_json_api_url?: string
  run_app_url: string
  run_created_at: string
  run_created_by: string
  run_id: string
  run_message: string
  task_result_callback_url: string
  task_result_enforcement_level: 'advisory' | 'mandatory' | 'test'
  task_result_id: string
  vcs_branch: null
  vcs_commit_url: null
  vcs_pull_request_url: null
  vcs_repo_url: null
  workspace_app_url: string
  workspace_id: string
  workspace_name: string
  workspace_working_directory: string
}

/** The subject of a request: a run at one of its stages. */
export type TaskSubject = {
  stage: Stage
  accessToken: string
  enforcementLevel: TaskPayload['task_result_enforcement_level']
  taskResultId: string
  organizationName: string
  workspace: { id: string; name: string; workingDirectory: string }
  run: {
    id: string
    createdAt: Date
    createdBy: string
    message: string
    speculative: boolean
    planId: string
    configurationVersionId: string
    /** Whether the archive can still be downloaded. */
    hasConfiguration: boolean
  }
}

/** Every URL in the payload is absolute and on this server. */
export function taskPayload(baseUrl: string, subject: TaskSubject): TaskPayload {
  const { run, workspace, organizationName } = subject
  const api = `${baseUrl}/api/v2`
  const workspaceUrl = `${baseUrl}/app/${encodeURIComponent(organizationName)}/workspaces/${encodeURIComponent(workspace.name)}`
  return {
    payload_version: 1,
    stage: subject.stage,
    access_token: subject.accessToken,
    capabilities: { outcomes: true },
    configuration_version_download_url: run.hasConfiguration
      ? `${api}/configuration-versions/${run.configurationVersionId}/download`
      : null,
    configuration_version_id: run.configurationVersionId,
    is_speculative: run.speculative,
    organization_name: organizationName,
    ...(subject.stage !== 'pre_plan' && { plan_json_api_url: `${api}/plans/${run.planId}/json-output` }),
    run_app_url: `${workspaceUrl}/runs/${run.id}`,
    run_created_at: run.createdAt.toISOString(),
    run_created_by: run.createdBy,
    run_id: run.id,
    run_message: run.message,
    task_result_callback_url: `${api}/task-results/${subject.taskResultId}/callback`,
    task_result_enforcement_level: subject.enforcementLevel,
    task_result_id: subject.taskResultId,
    vcs_branch: null,
    vcs_commit_url: null,
    vcs_pull_request_url: null,
    vcs_repo_url: null,
    workspace_app_url: workspaceUrl,
    workspace_id: workspace.id,
    workspace_name: workspace.name,
    workspace_working_directory: workspace.workingDirectory,
  }
}

/** Receivers recognise a connection test by this token and return 200 without doing any work. */
export const TEST_TOKEN = 'test-token'

/**
 * The verification request. It has every key of a real request, for a run that does not exist. Receivers of the public
 * service recognise it by its token and enforcement level.
 */
export function verificationRequest(baseUrl: string, organizationName: string, now: Date): TaskPayload {
  return taskPayload(baseUrl, {
    stage: 'post_plan',
    accessToken: TEST_TOKEN,
    enforcementLevel: 'test',
    taskResultId: 'taskrs-xxxxxxxxxxxxxxxx',
    organizationName,
    workspace: { id: 'ws-xxxxxxxxxxxxxxxx', name: 'test-workspace', workingDirectory: '' },
    run: {
      id: 'run-xxxxxxxxxxxxxxxx',
      createdAt: now,
      createdBy: 'test-user',
      message: 'Verification of the run task',
      speculative: false,
      planId: 'plan-xxxxxxxxxxxxxxxx',
      configurationVersionId: 'cv-xxxxxxxxxxxxxxxx',
      hasConfiguration: true,
    },
  })
}

/**
 * Lower-case hex HMAC-SHA512 of the body's bytes (public documentation: run-tasks-integration); empty without a key.
 */
export function taskSignature(body: Buffer, hmacKey: string | undefined) {
  return hmacKey === undefined ? '' : createHmac('sha512', hmacKey).update(body).digest('hex')
}

/** The signature is sent in the header of the interface and in the one that existing receivers read. */
export function taskHeaders(baseUrl: string, signature: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': `Groundstate/1.0 (+${baseUrl}; Groundstate)`,
    accept: '*/*',
    'X-SVC-Task-Signature': signature,
    'X-TFC-Task-Signature': signature,
  }
}
