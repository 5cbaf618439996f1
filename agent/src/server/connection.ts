import { createReadStream } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import tls from 'node:tls'
import { AGENT_API } from '@groundstate/contract/agent'
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from 'undici'
import { z } from 'zod'
import { codeOf, messageOf } from '../process/errors.ts'
import { isLocal } from '../process/relay.ts'
import { traceparent } from '../tracing/tracing.ts'

/** Delay before a request is retried, in ms; doubled on each retry. */
export const MIN_RETRY_DELAY_MS = 50
export const MAX_RETRY_DELAY_MS = 2_000
/** Default margin for the server's response after the long poll, in ms. */
const RESPONSE_TIMEOUT_MS = 30_000

/** The server, or a proxy in front of it, returned a status that an immediate retry will not change. */
export class RequestRejectedError extends Error {
  override name = 'RequestRejectedError'
  status: number
  /** The response comes from the server, so a later retry will not change it either. */
  isFinal: boolean

  constructor(what: string, status: number, { detail = '', isFinal = false } = {}) {
    super(`the server responded to ${what} with ${status}${detail === '' ? '' : `: ${detail}`}`)
    this.status = status
    this.isFinal = isFinal
  }
}

/** Whether the server rejected the agent's token. */
export function isTokenRejected(error: unknown): error is RequestRejectedError {
  return error instanceof RequestRejectedError && error.isFinal && [401, 403].includes(error.status)
}

type FileBody = { file: string; size: number }

export type Call = {
  method: Dispatcher.HttpMethod
  path: string
  token: string
  body?: string | Uint8Array | FileBody
  longPollMs?: number
  /** Margin for the response after that, in ms. */
  responseMs?: number
  /** Rejections by a proxy are retried for this long, in ms. */
  proxyRetryTimeoutMs?: number
  again?: Pick<Call, 'body' | 'longPollMs'>
  /** The connection was opened after this time, by `performance.now()`: earlier ones may be lost. */
  openedAfter?: number
  signal: AbortSignal
}

/** Kept-alive connections to one server. */
export type Connection = {
  serverUrl: string
  /** The current pool of connections. */
  readonly dispatcher: Dispatcher
  /** Replaces a pool of before this time, by `performance.now()`: once the network has silently dropped one connection, the other idle ones may be lost, too. */
  renew: (before: number) => void
  onRetry: (reason: string) => void
  /** Called for each response to a retry. */
  onResponse?: (() => void) | undefined
  /** Time of the last response of the server by `performance.now()`, in ms. */
  contactedAt?: number
}

/** `authorities` is PEM that replaces the default certificate authorities. */
export function openConnection(
  serverUrl: string,
  authorities: string | undefined,
  onRetry: Connection['onRetry'],
  onResponse?: () => void,
): Connection {
  const trust = authorities === undefined ? {} : { ca: authorities }
  const options = { keepAliveTimeout: 30_000, connect: { timeout: 10_000, ...trust }, bodyTimeout: 120_000 }
  const open = () =>
    isLocal(serverUrl) ? new Agent(options) : new EnvHttpProxyAgent({ ...options, requestTls: trust, proxyTls: trust })
  let dispatcher: Dispatcher = open()
  let openedAt = performance.now()
  return {
    serverUrl: serverUrl.replace(/\/+$/, ''),
    get dispatcher() {
      return dispatcher
    },
    renew(before) {
      if (openedAt >= before) return
      // Its requests continue: they may be slow.
      dispatcher.close().catch(() => {})
      dispatcher = open()
      openedAt = performance.now()
    },
    onRetry,
    onResponse,
  }
}

/** Sends a call, and retries it after a transport error, a 429 or a 5xx until the signal aborts: all requests may be repeated. */
export async function send(connection: Connection, first: Call): Promise<Dispatcher.ResponseData> {
  let call = first
  const proxyRetriesUntil = performance.now() + (first.proxyRetryTimeoutMs ?? 0)
  for (let waitMs = MIN_RETRY_DELAY_MS; ; waitMs = Math.min(waitMs * 2, MAX_RETRY_DELAY_MS)) {
    call.signal.throwIfAborted()
    const result = await attempt(connection, call, performance.now() < proxyRetriesUntil)
    if (typeof result !== 'string') {
      if (waitMs > MIN_RETRY_DELAY_MS) connection.onResponse?.()
      return result
    }
    connection.onRetry(`${call.method} ${call.path}: ${result}`)
    call = { ...call, ...call.again }
    await delay(waitMs * (0.5 + Math.random() / 2), undefined, { signal: call.signal })
  }
}

/** Returns the response, or the reason for a retry. */
async function attempt(connection: Connection, call: Call, retriesProxy: boolean) {
  const { method, path, token, body, longPollMs = 0, responseMs = RESPONSE_TIMEOUT_MS, signal } = call
  const { serverUrl } = connection
  if (call.openedAfter !== undefined) connection.renew(call.openedAfter)
  const { dispatcher } = connection
  const startedAt = performance.now()
  const trace = traceparent()
  try {
    const response = await request(`${serverUrl}${AGENT_API}${path}`, {
      dispatcher,
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(trace !== undefined && { traceparent: trace }),
        ...contentHeaders(body),
      },
      // A run may let its file grow.
      body: isFile(body) ? createReadStream(body.file, { end: body.size - 1 }) : (body ?? null),
      headersTimeout: longPollMs + responseMs,
      signal,
    })
    const { statusCode } = response
    const isFromProxy = statusCode >= 400 && !isServerResponse(response)
    if (statusCode < 500 && statusCode !== 429 && !(retriesProxy && isFromProxy)) {
      if (!isFromProxy) connection.contactedAt = performance.now()
      return response
    }
    await response.body.dump()
    return `status ${statusCode}`
  } catch (error) {
    signal.throwIfAborted()
    if (codeOf(error) === 'UND_ERR_HEADERS_TIMEOUT') connection.renew(startedAt)
    if (codeOf(error) === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH')
      throw new Error(`the file for ${method} ${path} became shorter during its upload`, { cause: error })
    return `${messageOf(error)}${hintOf(codeOf(error), serverUrl)}`
  }
}

const NO_TLS = /^(EPROTO|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST))$/
const UNKNOWN_AUTHORITY = /^(UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|.*SELF_SIGNED_CERT.*)$/

/** Hint for a connection error that does not resolve without a user. */
function hintOf(code: string, serverUrl: string): string {
  if (NO_TLS.test(code)) return `: the server does not use TLS: write ${serverUrl.replace(/^https:/, 'http:')}`
  return UNKNOWN_AUTHORITY.test(code) ? ": pass the certificate of the server's authority with --ca-file" : ''
}

function isFile(body: Call['body']): body is FileBody {
  return typeof body === 'object' && 'file' in body
}

function contentHeaders(body: Call['body']): Record<string, string> {
  if (body === undefined) return {}
  if (typeof body === 'string') return { 'content-type': 'application/json' }
  const size = isFile(body) ? body.size : body.byteLength
  return { 'content-type': 'application/octet-stream', 'content-length': String(size) }
}

export function contentType({ headers }: Dispatcher.ResponseData) {
  return [headers['content-type']].flat()[0] ?? ''
}

/** Whether an error response comes from the server: a proxy's has another media type, and does not concern the token or job. */
export function isServerResponse(response: Dispatcher.ResponseData) {
  return /^application\/vnd\.api\+json\b/.test(contentType(response))
}

/** Throws `RequestRejectedError` for other statuses. */
export async function requireStatus(call: Call, response: Dispatcher.ResponseData, expected: readonly number[]) {
  if (expected.includes(response.statusCode)) return
  const detail = detailOf(await response.body.text()).slice(0, 1_000)
  const isFinal = isServerResponse(response)
  throw new RequestRejectedError(`${call.method} ${call.path}`, response.statusCode, { detail, isFinal })
}

/** The JSON of a 200; undefined for other statuses, such as 204. */
export async function jsonOf({ statusCode, body }: Dispatcher.ResponseData): Promise<unknown> {
  if (statusCode === 200) return body.json()
  await body.dump()
  return undefined
}

const errorDocument = z.object({ errors: z.array(z.object({ title: z.string(), detail: z.string() }).partial()) })

/** The details of an error document; any other text unchanged. */
export function detailOf(text: string): string {
  const { data } = errorDocument.safeParse(parseJson(text))
  return data ? data.errors.flatMap(({ detail, title }) => detail ?? title ?? []).join('; ') : text
}

/** The default certificate authorities, as PEM: Node's own ones before Node 22. */
export function knownAuthorities(): readonly string[] {
  const { getCACertificates, rootCertificates }: Partial<typeof tls> = tls
  return getCACertificates?.('default') ?? rootCertificates ?? []
}

/** Parses JSON; undefined if it is invalid, such as in a partly written file. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a connection broke, as opposed to the processing of the received bytes. */
export function isTransportError(error: unknown): boolean {
  return /^(UND_ERR_|ECONN|EPIPE|ETIMEDOUT)/.test(codeOf(error))
}
