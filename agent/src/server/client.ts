import {
  type AgentJob,
  type AnswerTaskRequest,
  type RegisterAgent,
  type TaskRequest,
  type WorkKind,
  registeredAgent,
  taskRequest,
} from '@groundstate/contract/agent'
import { type Call, type Connection, contentType, isOfServer, parseJson, requireStatus, send } from './connection.ts'
import { jobOf } from './job-client.ts'

/** Something answers at the address that is no server of this kind. */
export class NoServer extends Error {
  override name = 'NoServer'
}

/** Announces an agent; its id holds until the server says otherwise. Throws `NoServer` when the response is none of ours. */
export async function register(connection: Connection, token: string, agent: RegisterAgent, signal: AbortSignal) {
  const call: Call = { method: 'POST', path: '/register', token, body: JSON.stringify(agent), signal }
  const response = await send(connection, call)
  const type = contentType(response)
  if (isOfServer(response) && response.statusCode !== 404) await requireStatus(call, response, [200, 201])
  const read = registeredAgent.safeParse(parseJson(await response.body.text()))
  if (read.success) return read.data
  const answer = `${response.statusCode}${type === '' ? '' : ` with ${type}`}`
  throw new NoServer(`${connection.serverUrl} is no Groundstate server: it answered ${answer} to a registration`)
}

type ClaimOptions = { waitMs: number; warmRunIds: string[]; accepts: readonly WorkKind[]; signal: AbortSignal }

/** Waits up to `waitMs` for a job; undefined when none came. */
export async function claim(
  connection: Connection,
  token: string,
  agentId: string,
  { waitMs, warmRunIds, accepts, signal }: ClaimOptions,
): Promise<AgentJob | undefined> {
  const runs = accepts.filter((kind) => kind !== 'task')
  const body = JSON.stringify({ waitMs, warmRunIds, accepts: runs, sendsReceipt: true })
  const call: Call = { method: 'POST', path: `/agents/${agentId}/claim`, token, body, longPollMs: waitMs, signal }
  const response = await send(connection, { ...call, proxyRetryTimeoutMs: Infinity })
  await requireStatus(call, response, [200, 204])
  return jobOf(response)
}

/** As `claim`, for a request of a run task. */
export async function claimTask(
  connection: Connection,
  token: string,
  agentId: string,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
): Promise<TaskRequest | undefined> {
  const body = JSON.stringify({ waitMs })
  const call: Call = { method: 'POST', path: `/agents/${agentId}/claim-task`, token, body, longPollMs: waitMs, signal }
  const response = await send(connection, { ...call, proxyRetryTimeoutMs: Infinity })
  await requireStatus(call, response, [200, 204])
  if (response.statusCode === 200) return taskRequest.parse(await response.body.json())
  await response.body.dump()
  return undefined
}

export async function answerTask(
  connection: Connection,
  { id, token, leaseMs }: Pick<TaskRequest, 'id' | 'token' | 'leaseMs'>,
  answer: AnswerTaskRequest,
) {
  const signal = AbortSignal.timeout(leaseMs)
  const call: Call = {
    method: 'POST',
    path: `/task-requests/${id}/answer`,
    token,
    body: JSON.stringify(answer),
    proxyRetryTimeoutMs: Infinity,
    signal,
  }
  const response = await send(connection, call)
  await requireStatus(call, response, [204])
  await response.body.dump()
}

export async function deregister(connection: Connection, token: string, agentId: string, signal: AbortSignal) {
  const call: Call = { method: 'POST', path: `/agents/${agentId}/deregister`, token, signal }
  const response = await send(connection, call)
  await response.body.dump()
}
