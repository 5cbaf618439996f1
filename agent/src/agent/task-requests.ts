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
  const { connection, token, waitMs, accepts, deregistered } = claims
  try {
    await serveClaims(claims, {
      what: 'request',
      limit: LIMIT,
      claim: (agentId) => claimTask(connection, token, agentId, { waitMs, accepts, signal: deregistered }),
      handle: (request) => claims.during[request.kind](() => handle(request, dispatchers, claims)),
      isLast: ({ kind }) => claims.single && kind === 'task',
    })
  } finally {
    await Promise.all(Object.values(dispatchers).map((dispatcher) => dispatcher.destroy()))
  }
}

type Service<Item> = {
  what: string
  limit: number
  claim: (agentId: string) => Promise<Item | undefined>
  handle: (item: Item) => Promise<void>
  /** Nothing is claimed while this item is handled. */
  isLast?: (item: Item) => boolean
}

/** Claims items with one long poll at a time, and handles up to `limit` of them concurrently, until the agent stops. */
export async function serveClaims<Item>(claims: RequestClaims, service: Service<Item>): Promise<void> {
  const running = new Set<Promise<void>>()
  try {
    await claims.claimLoop(service.what, async (agentId) => {
      const item = await service.claim(agentId)
      if (item === undefined) return
      const handled = service.handle(item).finally(() => running.delete(handled))
      running.add(handled)
      if (service.isLast?.(item) === true) await handled
      else if (running.size >= service.limit) await Promise.race(running)
    })
  } finally {
    await Promise.all(running)
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
