import {
  AGENT_API,
  type AgentJob,
  type ArtifactKind,
  type DocumentsHeader,
  type FinishJob,
  type RegisterAgent,
  type WorkKind,
  agentJob,
} from '@groundstate/contract/agent'
import {
  type GitRequest,
  type ReportGit,
  type ReportTaskResponse,
  type RequestKind,
  type TaskRequest,
  gitRequest,
  taskRequest,
} from '@groundstate/contract/agent-requests'
import { packEnvelope } from '@groundstate/contract/envelope'
import { type PolicyRequest, policyRequest, type reportPolicyBody } from '@groundstate/contract/policy-requests'
import type { z } from 'zod'
import { createBuiltInAgentToken } from '../features/agents/agent-pools/service.ts'
import type { TaskPayload } from '../features/tasks/run-tasks/request.ts'
import type { TestApp, TestResponse } from './app.ts'

type ClaimOptions = {
  waitMs?: number
  warmRunIds?: string[]
  accepts?: ('plan' | 'apply')[]
  sendsReceipt?: boolean
  /** Whether the response to the claim reaches the agent, by default true. */
  receives?: boolean
}

/** An agent that speaks the real protocol and follows the test's instructions; it runs no engine. */
export type FakeAgent = {
  id: string
  token: string
  /** The next job; undefined for none. */
  claim: (options?: ClaimOptions) => Promise<FakeJob | undefined>
  /** As `claim`, but throws without a job. */
  take: (options?: Pick<ClaimOptions, 'receives' | 'sendsReceipt'>) => Promise<FakeJob>
  /** The next request, by default of a run task; undefined for none. */
  claimTask: (options?: { waitMs?: number; accepts?: RequestKind[] }) => Promise<FakeTaskRequest | undefined>
  /** The next git operation; undefined for none. */
  claimGit: (options?: { waitMs?: number }) => Promise<FakeGitRequest | undefined>
  /** The next policies to evaluate; undefined for none. */
  claimPolicies: (options?: { waitMs?: number }) => Promise<FakePolicyRequest | undefined>
}

export type FakePolicyRequest = PolicyRequest & {
  input: () => Promise<TestResponse>
  archive: (setId: string) => Promise<TestResponse>
  heartbeat: () => Promise<TestResponse>
  report: (report: z.input<typeof reportPolicyBody>) => Promise<TestResponse>
}

export type FakeTaskRequest = TaskRequest & {
  body: string
  /** The parsed body, if it is of a run task. */
  payload: TaskPayload
  /** Uploads the body of a long response. */
  upload: (body: Buffer) => Promise<TestResponse>
  /** Reports a response, by default 200. */
  response: (response?: ReportTaskResponse) => Promise<TestResponse>
}

export type FakeGitRequest = GitRequest & {
  heartbeat: () => Promise<TestResponse>
  upload: (archive: Buffer) => Promise<TestResponse>
  report: (report: ReportGit) => Promise<TestResponse>
}

export type FakeJob = AgentJob & {
  log: (text: string, offset?: number) => Promise<TestResponse>
  put: (kind: ArtifactKind, content: string) => Promise<TestResponse>
  get: (kind: ArtifactKind) => Promise<TestResponse>
  configuration: () => Promise<TestResponse>
  heartbeat: (options?: { waitMs?: number; seen?: string }) => Promise<TestResponse>
  finish: (body?: Partial<FinishJob>) => Promise<TestResponse>
  /** As `finish`, with the rest of the log and files in the same request. */
  result: (body: Partial<FinishJob>, parts?: ResultParts) => Promise<TestResponse>
  /** Artifacts still to upload after the result. */
  documents: (files: Files, header?: Pick<DocumentsHeader, 'counts' | 'problem'>) => Promise<TestResponse>
  release: () => Promise<TestResponse>
}

type Files = Partial<Record<ArtifactKind, string>>
type ResultParts = { log?: string; offset?: number; files?: Files; takesApply?: boolean }

/** Properties that the agent reports. Without `downloadsEngines` it acts like an earlier version, which may have any engine. */
type Properties = Partial<Pick<RegisterAgent, 'engines' | 'downloadsEngines'>> & { accepts?: readonly WorkKind[] }

/** Registers an agent with a token of the pool; of the built-in pool by default. */
export async function createFakeAgent(
  app: TestApp,
  { token, name = 'fake', ...properties }: Properties & { token?: string; name?: string } = {},
): Promise<FakeAgent> {
  const secret = token ?? (await createBuiltInAgentToken(app.as()))
  const body = { name, version: '1.0.0', os: 'linux', arch: 'x64', ...properties }
  const registered = await app.request({ method: 'POST', url: `${AGENT_API}/register`, token: secret, body })
  if (registered.status !== 200) throw new Error(`registration failed: ${registered.text}`)
  const { agentId } = registered.json()

  const claim: FakeAgent['claim'] = async ({ waitMs = 0, receives = true, ...hints } = {}) => {
    const response = await app.request({
      method: 'POST',
      url: `${AGENT_API}/agents/${agentId}/claim`,
      token: secret,
      body: { waitMs, sendsReceipt: true, ...hints },
    })
    if (response.status === 204) return undefined
    if (response.status !== 200) throw new Error(`claim failed: ${response.text}`)
    const job = receivedJob(app, response)
    if (receives) await job.heartbeat()
    return job
  }
  return {
    id: agentId,
    token: secret,
    claim,
    async take(options) {
      // The server may end a claim early.
      const job = (await claim({ waitMs: 1000, ...options })) ?? (await claim({ waitMs: 1000, ...options }))
      if (!job) throw new Error('there is no job')
      return job
    },
    async claimTask(options = {}) {
      const url = `${AGENT_API}/agents/${agentId}/claim-task`
      const response = await app.request({ method: 'POST', url, token: secret, body: { waitMs: 0, ...options } })
      if (response.status === 204) return undefined
      if (response.status !== 200) throw new Error(`the claim of a run task failed: ${response.text}`)
      return fakeTaskRequest(app, taskRequest.parse(response.json()))
    },
    async claimGit({ waitMs = 0 } = {}) {
      const url = `${AGENT_API}/agents/${agentId}/claim-git`
      const response = await app.request({ method: 'POST', url, token: secret, body: { waitMs } })
      if (response.status === 204) return undefined
      if (response.status !== 200) throw new Error(`the claim of a git operation failed: ${response.text}`)
      return fakeGitRequest(app, gitRequest.parse(response.json()))
    },
    async claimPolicies({ waitMs = 0 } = {}) {
      const url = `${AGENT_API}/agents/${agentId}/claim-policies`
      const response = await app.request({ method: 'POST', url, token: secret, body: { waitMs } })
      if (response.status === 204) return undefined
      if (response.status !== 200) throw new Error(`the claim of policies failed: ${response.text}`)
      return fakePolicyRequest(app, policyRequest.parse(response.json()))
    },
  }
}

const DELIVERED: ReportTaskResponse = { durationMs: 3, status: 200, headers: {}, body: '', isTruncated: false }

function fakeTaskRequest(app: TestApp, request: TaskRequest): FakeTaskRequest {
  const { token, kind, body = '' } = request
  const url = `${AGENT_API}/task-requests/${request.id}`
  return {
    ...request,
    body,
    payload: kind === 'task' ? JSON.parse(Buffer.from(body, 'base64').toString()) : {},
    upload: (content) => app.request({ method: 'PUT', url: `${url}/body`, token, body: content }),
    response: (response = DELIVERED) => app.request({ method: 'POST', url: `${url}/answer`, token, body: response }),
  }
}

function fakePolicyRequest(app: TestApp, request: PolicyRequest): FakePolicyRequest {
  const { token } = request
  const url = `${AGENT_API}/policy-requests/${request.id}`
  return {
    ...request,
    input: () => app.request({ url: `${url}/input`, token }),
    archive: (setId) => app.request({ url: `${url}/sets/${setId}/archive`, token }),
    heartbeat: () => app.request({ method: 'POST', url: `${url}/heartbeat`, token }),
    report: (report) => app.request({ method: 'POST', url: `${url}/answer`, token, body: report }),
  }
}

function fakeGitRequest(app: TestApp, request: GitRequest): FakeGitRequest {
  const { token } = request
  const url = `${AGENT_API}/git-requests/${request.id}`
  return {
    ...request,
    heartbeat: () => app.request({ method: 'POST', url: `${url}/heartbeat`, token }),
    upload: (archive) => app.request({ method: 'PUT', url: `${url}/archive`, token, body: archive }),
    report: (report) => app.request({ method: 'POST', url: `${url}/answer`, token, body: report }),
  }
}

/** The job in a response. */
export function receivedJob(app: TestApp, response: TestResponse): FakeJob {
  return fakeJob(app, agentJob.parse(response.json()))
}

function fakeJob(app: TestApp, job: AgentJob): FakeJob {
  const send = (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) =>
    app.request({ method, url: `${AGENT_API}/jobs/${job.id}${path}`, token: job.token, body })
  let written = 0
  const outcome = (body: Partial<FinishJob>) => ({
    status: 'finished',
    exitCode: 0,
    ...(job.kind === 'plan' && { hasChanges: true }),
    ...body,
  })
  const sizes = (files: Files) => Object.entries(files).map(([kind, text]) => ({ kind, size: Buffer.byteLength(text) }))
  return {
    ...job,
    async log(text, offset = written) {
      const bytes = Buffer.from(text)
      const response = await send('PUT', `/log?offset=${offset}`, bytes)
      if (response.status === 200) written = Math.max(written, offset + bytes.length)
      return response
    },
    put: (kind, content) => send('PUT', `/artifacts/${kind}`, Buffer.from(content)),
    get: (kind) => send('GET', `/artifacts/${kind}`),
    configuration: () => send('GET', '/configuration'),
    heartbeat: ({ waitMs = 0, seen = 'continue' } = {}) => send('POST', '/heartbeat', { waitMs, seen }),
    finish: (body = {}) => send('POST', '/finish', outcome(body)),
    result(body, { log, offset = written, files = {}, ...options } = {}) {
      const rest = log === undefined ? {} : { log: { offset, size: Buffer.byteLength(log) } }
      const chunks = [log ?? '', ...Object.values(files)].map((chunk) => Buffer.from(chunk))
      const header = { outcome: outcome(body), ...rest, ...options, files: sizes(files) }
      return send('POST', '/result', Buffer.from(packEnvelope(header, chunks)))
    },
    documents: (files, header) =>
      send(
        'POST',
        '/documents',
        Buffer.from(
          packEnvelope(
            { ...header, files: sizes(files) },
            Object.values(files).map((text) => Buffer.from(text)),
          ),
        ),
      ),
    release: () => send('POST', '/release'),
  }
}
