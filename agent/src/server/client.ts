import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type RegisterAgent, type WorkKind, agentJob, registeredAgent } from '@groundstate/contract/agent'
import {
  type GitRequest,
  type ReportGit,
  type ReportTaskResponse,
  type RequestKind,
  type TaskRequest,
  gitRequest,
  taskRequest,
} from '@groundstate/contract/agent-requests'
import { type PolicyRequest, type ReportPolicies, policyRequest } from '@groundstate/contract/policy-requests'
import {
  type Call,
  type Connection,
  contentType,
  isServerResponse,
  isTransportError,
  jsonOf,
  parseJson,
  requireStatus,
  send,
} from './connection.ts'

/** Attempts to receive a body whose connection breaks. */
const DOWNLOAD_ATTEMPTS = 5

/** The address belongs to something other than a Groundstate server. */
export class NoServer extends Error {
  override name = 'NoServer'
}

/** Registers an agent. Throws `NoServer` if the response is not one of the protocol. */
export async function register(connection: Connection, token: string, agent: RegisterAgent, signal: AbortSignal) {
  const call: Call = { method: 'POST', path: '/register', token, body: JSON.stringify(agent), signal }
  const response = await send(connection, call)
  const type = contentType(response)
  if (isServerResponse(response) && response.statusCode !== 404) await requireStatus(call, response, [200, 201])
  const { data } = registeredAgent.safeParse(parseJson(await response.body.text()))
  if (data) return data
  const received = `${response.statusCode}${type === '' ? '' : ` (${type})`}`
  throw new NoServer(
    `${connection.serverUrl} is no Groundstate server: it responded to a registration with ${received}`,
  )
}

type Poll = { waitMs: number; signal: AbortSignal }
type JobPoll = Poll & { warmRunIds: string[]; accepts: readonly WorkKind[] }

/** Waits up to `waitMs` for a job. */
export async function claim(connection: Connection, token: string, agentId: string, { accepts, ...poll }: JobPoll) {
  const body = { ...poll, accepts: accepts.filter((kind) => kind === 'plan' || kind === 'apply'), sendsReceipt: true }
  return agentJob.optional().parse(await longPoll(connection, token, `/agents/${agentId}/claim`, body))
}

type TaskPoll = Poll & { accepts: readonly RequestKind[] }

/** As `claim`, for a request. */
export async function claimTask(connection: Connection, token: string, agentId: string, poll: TaskPoll) {
  return taskRequest.optional().parse(await longPoll(connection, token, `/agents/${agentId}/claim-task`, poll))
}

async function longPoll(connection: Connection, token: string, path: string, { signal, ...input }: Poll) {
  const body = JSON.stringify(input)
  const call: Call = { method: 'POST', path, token, body, longPollMs: input.waitMs, signal }
  const response = await send(connection, { ...call, proxyRetryTimeoutMs: Infinity })
  await requireStatus(call, response, [200, 204])
  return jsonOf(response)
}

export async function reportTaskResponse(connection: Connection, request: TaskRequest, answer: ReportTaskResponse) {
  const { id, token, leaseMs } = request
  const path = `/task-requests/${id}/answer`
  const signal = AbortSignal.timeout(leaseMs)
  await sendReport(connection, { method: 'POST', path, token, body: JSON.stringify(answer), signal })
}

/** Uploads the body of a long response, before the report. */
export async function uploadBody(connection: Connection, { id, token, leaseMs }: TaskRequest, body: Buffer) {
  const signal = AbortSignal.timeout(leaseMs)
  await sendReport(connection, { method: 'PUT', path: `/task-requests/${id}/body`, token, body, signal })
}

/** As `claim`, for a git operation. */
export async function claimGit(connection: Connection, token: string, agentId: string, poll: Poll) {
  return gitRequest.optional().parse(await longPoll(connection, token, `/agents/${agentId}/claim-git`, poll))
}

/** Renews the lease of a git operation. Throws `RequestRejectedError` if it is lost. */
export async function renewGitRequest(connection: Connection, { id, token }: GitRequest, signal: AbortSignal) {
  await sendReport(connection, { method: 'POST', path: `/git-requests/${id}/heartbeat`, token, signal })
}

type Upload = { file: string; signal: AbortSignal }

/** Uploads the archive that git wrote, before the report. */
export async function uploadArchive(connection: Connection, { id, token }: GitRequest, { file, signal }: Upload) {
  const body = { file, size: (await stat(file)).size }
  await sendReport(connection, { method: 'PUT', path: `/git-requests/${id}/archive`, token, body, signal })
}

type Report = { report: ReportGit; signal: AbortSignal }

export async function reportGit(connection: Connection, { id, token }: GitRequest, { report, signal }: Report) {
  const body = JSON.stringify(report)
  await sendReport(connection, { method: 'POST', path: `/git-requests/${id}/answer`, token, body, signal })
}

/** As `claim`, for an evaluation of policies. */
export async function claimPolicies(connection: Connection, token: string, agentId: string, poll: Poll) {
  return policyRequest.optional().parse(await longPoll(connection, token, `/agents/${agentId}/claim-policies`, poll))
}

/** Renews the lease of an evaluation. Throws `RequestRejectedError` if it is lost. */
export async function renewPolicyRequest(connection: Connection, { id, token }: PolicyRequest, signal: AbortSignal) {
  await sendReport(connection, { method: 'POST', path: `/policy-requests/${id}/heartbeat`, token, signal })
}

type Download<T> = { path: string; signal: AbortSignal; consume: (body: Readable) => Promise<T> }

/** Receives the input, or the archive of a set, of an evaluation. Calls `consume` again if the connection breaks. */
export async function getForPolicies<T>(connection: Connection, { id, token }: PolicyRequest, download: Download<T>) {
  const { path, signal, consume } = download
  const call: Call = { method: 'GET', path: `/policy-requests/${id}/${path}`, token, signal }
  for (let attempt = 1; ; attempt += 1) {
    const response = await send(connection, { ...call, proxyRetryTimeoutMs: Infinity })
    await requireStatus(call, response, [200])
    try {
      return await consume(response.body)
    } catch (error) {
      signal.throwIfAborted()
      if (attempt === DOWNLOAD_ATTEMPTS || !isTransportError(error)) throw error
      connection.onRetry(`GET ${call.path}: ${String(error)}`)
    }
  }
}

type PolicyReport = { report: ReportPolicies; signal: AbortSignal }

export async function reportPolicies(connection: Connection, request: PolicyRequest, { report, signal }: PolicyReport) {
  const { id, token } = request
  const body = JSON.stringify(report)
  await sendReport(connection, { method: 'POST', path: `/policy-requests/${id}/answer`, token, body, signal })
}

async function sendReport(connection: Connection, call: Call) {
  const response = await send(connection, { ...call, proxyRetryTimeoutMs: Infinity })
  await requireStatus(call, response, [204])
  await response.body.dump()
}

export async function deregister(connection: Connection, token: string, agentId: string, signal: AbortSignal) {
  const response = await send(connection, { method: 'POST', path: `/agents/${agentId}/deregister`, token, signal })
  await response.body.dump()
}
