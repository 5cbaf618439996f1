import { REPORTED_BODY_BYTES, type RequestKind, type TaskRequest } from '@groundstate/contract/agent-requests'
import type { Dispatcher } from 'undici'
import type { AgentLog } from '../log.ts'
import { claimTask, reportTaskResponse, uploadBody } from '../server/client.ts'
import { type Connection, RequestRejectedError } from '../server/connection.ts'
import { createDispatcher, sendRequest } from './send-request.ts'

/** Maximum number of concurrent requests; each costs only a connection. */
const LIMIT = 10

export type RequestClaims = {
  connection: Connection
  token: string
  waitMs: number
  log: AgentLog
  /** Calls `claimOne` until the agent stops. */
  claimLoop: (what: string, claimOne: (agentId: string) => Promise<void>) => Promise<void>
  deregistered: AbortSignal
  forceful: AbortSignal
}

type TaskClaims = RequestClaims & {
  accepts: readonly RequestKind[]
  single: boolean
  /** PEM that replaces the default authorities for hosts of repositories. */
  authorities: string | undefined
  /** Counts a request as work of the agent. */
  during: Record<RequestKind, (work: () => Promise<void>) => Promise<void>>
}

type Dispatchers = Record<RequestKind, Dispatcher>

/** Sends requests of the agent's pool, until it stops. Rejects when the server refuses the token. */
export async function serveTaskRequests(claims: TaskClaims): Promise<void> {
  const dispatchers = { task: createDispatcher(undefined), repository: createDispatcher(claims.authorities) }
  const running = new Set<Promise<void>>()
  const { connection, token, waitMs, accepts, deregistered } = claims
  try {
    await claims.claimLoop('request', async (agentId) => {
      const request = await claimTask(connection, token, agentId, { waitMs, accepts, signal: deregistered })
      if (request === undefined) return
      const { kind } = request
      const handled = claims.during[kind](() => handle(request, dispatchers, claims)).finally(() =>
        running.delete(handled),
      )
      running.add(handled)
      if (claims.single && kind === 'task') await handled
      else if (running.size >= LIMIT) await Promise.race(running)
    })
  } finally {
    await Promise.all(running)
    await Promise.all(Object.values(dispatchers).map((dispatcher) => dispatcher.destroy()))
  }
}

const NAMES = { task: 'run task request', repository: 'request to a host of repositories' } as const

async function handle(request: TaskRequest, dispatchers: Dispatchers, { connection, log, forceful }: TaskClaims) {
  const { kind, url, method } = request
  const sent = await sendRequest(request, dispatchers[kind], forceful)
  const result = 'error' in sent ? { reason: sent.error } : { status: sent.status }
  log.info({ url, method, ...result }, `${NAMES[kind]} sent`)
  try {
    if ('error' in sent) return await reportTaskResponse(connection, request, sent)
    const isUploaded = sent.body.length > REPORTED_BODY_BYTES
    if (isUploaded) await uploadBody(connection, request, sent.body)
    const body = isUploaded ? '' : sent.body.toString('base64')
    await reportTaskResponse(connection, request, { ...sent, body, isUploaded })
  } catch (error) {
    const isRejected = error instanceof RequestRejectedError
    const message = isRejected ? 'the server rejected the response to a request' : 'a response could not be reported'
    log.warn({ error }, message)
  }
}
