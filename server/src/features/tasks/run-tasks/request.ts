import type { Stage } from '@groundstate/contract/run-tasks'
import { userAgent } from '../../../deliveries/attempts.ts'

/** The subject of a request: a run at one of its stages. */
export type TaskSubject = {
  id: string
  stage: Stage
  enforcement_level: 'advisory' | 'mandatory' | 'test'
  organization_name: string
  workspace_id: string
  workspace_name: string
  working_directory: string
  run_id: string
  run_created_at: Date
  run_message: string
  username: string | null
  plan_only: boolean
  plan_id: string
  configuration_version_id: string
  configuration_status: string
  /** Null without a repository. */
  vcs_branch: string | null
  vcs_repo_url: string | null
  /** The commit of the configuration, and its pull request; null for an upload. */
  vcs_commit_url: string | null
  vcs_pull_request_url: string | null
}

export type TaskPayload = ReturnType<typeof taskPayload>

/** The payload of a request to a receiver (INTERFACE §2.3). Every URL is absolute and on this server. */
export function taskPayload(baseUrl: string, subject: TaskSubject, accessToken: string) {
  const { organization_name: organization, workspace_name: workspace } = subject
  const api = `${baseUrl}/api/v2`
  const workspaceUrl = `${baseUrl}/app/${encodeURIComponent(organization)}/workspaces/${encodeURIComponent(workspace)}`
  return {
    payload_version: 1 as const,
    stage: subject.stage,
    access_token: accessToken,
    capabilities: { outcomes: true },
    configuration_version_download_url:
      subject.configuration_status === 'uploaded'
        ? `${api}/configuration-versions/${subject.configuration_version_id}/download`
        : null,
    configuration_version_id: subject.configuration_version_id,
    is_speculative: subject.plan_only,
    organization_name: organization,
    ...(subject.stage !== 'pre_plan' && { plan_json_api_url: `${api}/plans/${subject.plan_id}/json-output` }),
    run_app_url: `${workspaceUrl}/runs/${subject.run_id}`,
    run_created_at: subject.run_created_at.toISOString(),
    run_created_by: subject.username ?? 'groundstate',
    run_id: subject.run_id,
    run_message: subject.run_message,
    task_result_callback_url: `${api}/task-results/${subject.id}/callback`,
    task_result_enforcement_level: subject.enforcement_level,
    task_result_id: subject.id,
    vcs_branch: subject.vcs_branch,
    vcs_commit_url: subject.vcs_commit_url,
    vcs_pull_request_url: subject.vcs_pull_request_url,
    vcs_repo_url: subject.vcs_repo_url,
    workspace_app_url: workspaceUrl,
    workspace_id: subject.workspace_id,
    workspace_name: workspace,
    workspace_working_directory: subject.working_directory,
  }
}

/** Receivers recognise a connection test by this token and return 200 without doing any work. */
export const TEST_TOKEN = 'test-token'

/** A request with every key of a real one, for no run. Receivers of the public service recognise it by its token and enforcement level. */
export function verificationRequest(baseUrl: string, organizationName: string, now: Date) {
  const subject: TaskSubject = {
    id: 'taskrs-xxxxxxxxxxxxxxxx',
    stage: 'post_plan',
    enforcement_level: 'test',
    organization_name: organizationName,
    workspace_id: 'ws-xxxxxxxxxxxxxxxx',
    workspace_name: 'test-workspace',
    working_directory: '',
    run_id: 'run-xxxxxxxxxxxxxxxx',
    run_created_at: now,
    run_message: 'Verification of the run task',
    username: 'test-user',
    plan_only: false,
    plan_id: 'plan-xxxxxxxxxxxxxxxx',
    configuration_version_id: 'cv-xxxxxxxxxxxxxxxx',
    configuration_status: 'uploaded',
    vcs_branch: null,
    vcs_repo_url: null,
    vcs_commit_url: null,
    vcs_pull_request_url: null,
  }
  return taskPayload(baseUrl, subject, TEST_TOKEN)
}

/** The headers of a request. The signature is also sent in the header that existing receivers read. */
export function taskHeaders(baseUrl: string, signature: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': userAgent(baseUrl),
    accept: '*/*',
    'X-SVC-Task-Signature': signature,
    'X-TFC-Task-Signature': signature,
  }
}
