import { setTimeout as delay } from 'node:timers/promises'
import { rootCertificates } from 'node:tls'
import {
  type AnswerTaskRequest,
  type RegisteredAgent,
  TASK_RESPONSE_BYTES,
  type TaskRequest,
} from '@groundstate/contract/agent'
import { Agent, type Dispatcher } from 'undici'
import type { AgentLog } from '../log.ts'
import { answerTask, claimTask } from '../server/client.ts'
import { type Connection, RequestRejectedError, isTokenRefused } from '../server/connection.ts'
import { guardedLookup, targetProblem } from './task-guard.ts'

/** Requests under way side by side; they cost no more than a connection each. */
const LIMIT = 10
const CONNECT_TIMEOUT_MS = 10_000
/** A response counts once its status is known. Its body is only for display, and gets this long, in ms. */
const BODY_TIMEOUT_MS = 5_000
/** A claim that cannot succeed is not sent again at once, in ms. */
const AFTER_ERROR_MS = 1_000

type Registration = Promise<RegisteredAgent>

type TaskClaims = {
  connection: Connection
  /** The agent's own token. */
  token: string
  waitMs: number
  /** Takes no other request before one has ended. */
  single: boolean
  log: AgentLog
  registration: () => Registration
  /** The server knows the agent of this registration no more. */
  onForgotten: (registration: Registration) => void
  /** Counts a request that is under way as work of the agent. */
  during: (work: () => Promise<void>) => Promise<void>
  /** Ends the claims; requests under way get to finish. */
  stopping: AbortSignal
  /** Ends a claim that waits. */
  gone: AbortSignal
  /** Ends the requests under way. */
  forceful: AbortSignal
}

/** Sends the requests of run tasks of the agent's pool, until it stops. Rejects when the server refuses the token. */
export async function serveTaskRequests(claims: TaskClaims): Promise<void> {
  const dispatcher = createDispatcher(undefined)
  const underWay = new Set<Promise<void>>()
  try {
    await claimUntilStopped(claims, (request) => {
      const handled = claims.during(() => handle(request, dispatcher, claims)).finally(() => underWay.delete(handled))
      underWay.add(handled)
      return underWay.size < (claims.single ? 1 : LIMIT) ? undefined : Promise.race(underWay)
    })
  } finally {
    await Promise.all(underWay)
    await dispatcher.destroy()
  }
}

/** Hands each request to `take`, and claims no other until that has resolved. */
async function claimUntilStopped(claims: TaskClaims, take: (request: TaskRequest) => Promise<void> | undefined) {
  const { connection, token, waitMs, log, stopping, gone } = claims
  while (!stopping.aborted) {
    const current = claims.registration()
    const { agentId } = await current
    try {
      const request = await claimTask(connection, token, agentId, { waitMs, signal: gone })
      if (request !== undefined) await take(request)
    } catch (error) {
      if (gone.aborted) return
      if (isTokenRefused(error)) throw error
      if (error instanceof RequestRejectedError && [404, 409, 410].includes(error.status)) claims.onForgotten(current)
      else log.error({ error }, 'a claim of a run task failed')
      await delay(AFTER_ERROR_MS, undefined, { signal: stopping }).catch(() => {})
    }
  }
}

async function handle(request: TaskRequest, shared: Dispatcher, { connection, log, forceful }: TaskClaims) {
  const answer = await send(request, shared, forceful)
  log.info(
    { url: request.url, ...('error' in answer ? { reason: answer.error } : { status: answer.status }) },
    'run task asked',
  )
  await answerTask(connection, request, answer).catch((error: unknown) => {
    log.warn({ error }, 'the server did not take the response to a run task')
  })
}

function createDispatcher(ca: string | undefined) {
  return new Agent({
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      lookup: guardedLookup,
      allowH2: false,
      ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
    },
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** Sends a request once, follows no redirects, and never throws. */
async function send(request: TaskRequest, shared: Dispatcher, forceful: AbortSignal): Promise<AnswerTaskRequest> {
  const started = performance.now()
  const since = () => Math.round(performance.now() - started)
  const problem = targetProblem(request.url)
  if (problem !== undefined) return { durationMs: 0, error: problem }
  const own = request.ca === undefined ? undefined : createDispatcher(request.ca)
  const timeout = AbortSignal.timeout(request.timeoutMs)
  const { origin, pathname, search } = new URL(request.url)
  try {
    const response = await (own ?? shared).request({
      origin,
      path: `${pathname}${search}`,
      method: request.method,
      headers: request.headers,
      body: Buffer.from(request.body, 'base64'),
      signal: AbortSignal.any([timeout, forceful]),
    })
    const durationMs = since()
    const { body, isTruncated } = await readStart(response.body)
    const headers = Object.entries(response.headers).filter((entry) => entry[1] !== undefined)
    return {
      durationMs,
      status: response.statusCode,
      headers: Object.fromEntries(headers) as Record<string, string | string[]>,
      body: body.toString('base64'),
      isTruncated,
    }
  } catch (error) {
    const durationMs = since()
    if (forceful.aborted) return { durationMs, error: 'the agent was stopped before a response came' }
    if (timeout.aborted) return { durationMs, error: `no response within ${request.timeoutMs / 1000} s` }
    return { durationMs, ...failure(error) }
  } finally {
    await own?.destroy()
  }
}

/** Reads the beginning of a body, and closes the connection if more follows. */
async function readStart(stream: Dispatcher.ResponseData['body']) {
  const chunks: Buffer[] = []
  let size = 0
  let isTruncated = false
  const timer = setTimeout(() => stream.destroy(), BODY_TIMEOUT_MS)
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      isTruncated = size > TASK_RESPONSE_BYTES
      if (isTruncated) break
    }
  } catch {
    isTruncated = true
  } finally {
    clearTimeout(timer)
  }
  return { body: Buffer.concat(chunks).subarray(0, TASK_RESPONSE_BYTES), isTruncated }
}

/** The innermost error, which says more than what wraps it. */
function failure(error: unknown): { error: string; code?: string } {
  if (error instanceof AggregateError && error.errors.length > 0) return failure(error.errors[0])
  if (error instanceof Error && error.cause instanceof Error) return failure(error.cause)
  if (!(error instanceof Error)) return { error: String(error) }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  return { error: error.message.slice(0, 1000) || error.name, ...(code !== undefined && { code }) }
}
