import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { BlockList, type LookupFunction, isIP } from 'node:net'
import { rootCertificates } from 'node:tls'
import { type ReportTaskResponse, TASK_RESPONSE_BYTES, type TaskRequest } from '@groundstate/contract/agent'
import { Agent, type Dispatcher } from 'undici'
import type { AgentLog } from '../log.ts'
import { reportTaskResponse, claimTask } from '../server/client.ts'
import type { Connection } from '../server/connection.ts'

/** Maximum number of concurrent requests; each costs only a connection. */
const LIMIT = 10
const CONNECT_TIMEOUT_MS = 10_000
/** Timeout for the body of a response, which is only displayed, in ms. */
const BODY_TIMEOUT_MS = 5_000

type TaskClaims = {
  connection: Connection
  token: string
  waitMs: number
  single: boolean
  log: AgentLog
  /** Calls `claimOne` until the agent stops. */
  claimLoop: (what: string, claimOne: (agentId: string) => Promise<void>) => Promise<void>
  /** Counts a request as work of the agent. */
  during: (work: () => Promise<void>) => Promise<void>
  deregistered: AbortSignal
  forceful: AbortSignal
}

/** Sends the requests of run tasks of the agent's pool, until it stops. Rejects when the server refuses the token. */
export async function serveTaskRequests(claims: TaskClaims): Promise<void> {
  const dispatcher = createDispatcher(undefined)
  const running = new Set<Promise<void>>()
  const { connection, token, waitMs, deregistered } = claims
  try {
    await claims.claimLoop('run task', async (agentId) => {
      const request = await claimTask(connection, token, agentId, { waitMs, signal: deregistered })
      if (request === undefined) return
      const handled = claims.during(() => handle(request, dispatcher, claims)).finally(() => running.delete(handled))
      running.add(handled)
      if (running.size >= (claims.single ? 1 : LIMIT)) await Promise.race(running)
    })
  } finally {
    await Promise.all(running)
    await dispatcher.destroy()
  }
}

async function handle(request: TaskRequest, shared: Dispatcher, { connection, log, forceful }: TaskClaims) {
  const answer = await send(request, shared, forceful)
  const result = 'error' in answer ? { reason: answer.error } : { status: answer.status }
  log.info({ url: request.url, ...result }, 'run task request sent')
  await reportTaskResponse(connection, request, answer).catch((error: unknown) => {
    log.warn({ error }, 'the server rejected the response to a run task')
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
async function send(request: TaskRequest, shared: Dispatcher, forceful: AbortSignal): Promise<ReportTaskResponse> {
  const started = performance.now()
  const elapsed = () => Math.round(performance.now() - started)
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
    const durationMs = elapsed()
    const { body, isTruncated } = await readStart(response.body)
    const present = Object.entries(response.headers).filter((entry) => entry[1] !== undefined)
    const headers = Object.fromEntries(present) as Record<string, string | string[]>
    return { durationMs, status: response.statusCode, headers, body: body.toString('base64'), isTruncated }
  } catch (error) {
    const durationMs = elapsed()
    if (forceful.aborted) return { durationMs, error: 'the agent was stopped before it received a response' }
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

/** Reports the innermost error, which is the most specific. */
function failure(error: unknown): { error: string; code?: string } {
  if (error instanceof AggregateError && error.errors.length > 0) return failure(error.errors[0])
  if (error instanceof Error && error.cause instanceof Error) return failure(error.cause)
  if (!(error instanceof Error)) return { error: String(error) }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  return { error: error.message.slice(0, 1000) || error.name, ...(code !== undefined && { code }) }
}

/** Addresses of cloud metadata services, which serve the machine's credentials, and all link-local ones. All other addresses are left to the firewall. */
const CLOSED = new BlockList()
CLOSED.addSubnet('169.254.0.0', 16, 'ipv4')
CLOSED.addSubnet('fe80::', 10, 'ipv6')
// NAT64 form of the first one.
CLOSED.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6')
CLOSED.addAddress('fd00:ec2::254', 'ipv6')
CLOSED.addAddress('100.100.100.200', 'ipv4')
CLOSED.addAddress('168.63.129.16', 'ipv4')

function targetProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return 'the agent calls http and https URLs only'
  return addressProblem(url.hostname.replace(/^\[(.+)\]$/, '$1'))
}

/** Resolves a name to permitted addresses. The connection uses the result, so it cannot change in between. */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error) return callback(error, [])
    const problem = addresses.map(({ address }) => addressProblem(address)).find((reason) => reason !== undefined)
    if (problem !== undefined) return callback(new Error(`${hostname} resolves to a blocked address: ${problem}`), [])
    const [first] = addresses
    if (options.all || !first) return callback(null, addresses)
    return callback(null, first.address, first.family)
  })
}

function addressProblem(address: string): string | undefined {
  const version = isIP(address)
  if (version === 0 || !CLOSED.check(address, version === 6 ? 'ipv6' : 'ipv4')) return undefined
  return `${address} is a link-local or metadata address, which the agent never calls`
}
