import {
  type ReportTaskResponse,
  type RegisterAgent,
  type TaskRequest,
  type WorkKind,
  agentJob,
  registeredAgent,
  taskRequest,
} from '@groundstate/contract/agent'
import {
  type Call,
  type Connection,
  contentType,
  isServerResponse,
  jsonOf,
  parseJson,
  requireStatus,
  send,
} from './connection.ts'

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
  const body = { ...poll, accepts: accepts.filter((kind) => kind !== 'task'), sendsReceipt: true }
  return agentJob.optional().parse(await longPoll(connection, token, `/agents/${agentId}/claim`, body))
}

/** As `claim`, for a request of a run task. */
export async function claimTask(connection: Connection, token: string, agentId: string, poll: Poll) {
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
  const call: Call = { method: 'POST', path, token, body: JSON.stringify(answer), signal }
  const response = await send(connection, { ...call, proxyRetryTimeoutMs: Infinity })
  await requireStatus(call, response, [204])
  await response.body.dump()
}

export async function deregister(connection: Connection, token: string, agentId: string, signal: AbortSignal) {
  const response = await send(connection, { method: 'POST', path: `/agents/${agentId}/deregister`, token, signal })
  await response.body.dump()
}
