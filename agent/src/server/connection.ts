import { createReadStream } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import tls from 'node:tls'
import { AGENT_API } from '@groundstate/contract/agent'
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from 'undici'
import { z } from 'zod'

/** Delay before a request is retried, in ms; doubled on each retry. */
export const MIN_RETRY_DELAY_MS = 50
export const MAX_RETRY_DELAY_MS = 2_000
/** Margin for the server's response after the long poll, in ms. */
const RESPONSE_MS = 30_000

/** Media type of the server's refusals. Those of a proxy have another one, and say nothing about a token or a job. */
const REFUSAL_TYPE = /^application\/vnd\.api\+json\b/

/** The server, or a proxy in front of it, returned a status that an immediate retry will not change. */
export class RequestRejectedError extends Error {
  override name = 'Refused'
  status: number
  /** The server itself has said so, and will say it again. */
  isFinal: boolean

  constructor(what: string, status: number, { detail = '', isFinal = false } = {}) {
    super(`the server answered ${status} to ${what}${detail === '' ? '' : `: ${detail}`}`)
    this.status = status
    this.isFinal = isFinal
  }
}

/** Whether the server refuses the agent's token, for whatever it was sent with. */
export function isTokenRefused(error: unknown): error is RequestRejectedError {
  return error instanceof RequestRejectedError && error.isFinal && [401, 403].includes(error.status)
}

/** A request of the protocol. */
export type Call = {
  method: Dispatcher.HttpMethod
  path: string
  token: string
  body?: string | Uint8Array | { file: string; size: number }
  /** For how long the server was asked to hold the request, in ms. */
  longPollMs?: number
  /** Margin for the response after that, in ms. */
  responseMs?: number
  /** For so long (ms) it is sent again when another than the server refuses it, as after a 5xx. */
  proxyRetryTimeoutMs?: number
  /** Overrides for a retry of the call. */
  again?: Pick<Call, 'body' | 'longPollMs'>
  signal: AbortSignal
}

/** A kept-alive connection pool to one server; `onRetry` hears of every attempt that is made again. */
export type Connection = {
  serverUrl: string
  dispatcher: Dispatcher
  onRetry: (reason: string) => void
  /** An attempt that was made again has got its response. */
  onResponse?: (() => void) | undefined
}

/** `authorities` is PEM that takes the place of the known certificate authorities. */
export function openConnection(
  serverUrl: string,
  authorities: string | undefined,
  onRetry: (reason: string) => void,
  onResponse?: () => void,
): Connection {
  const tls = authorities === undefined ? {} : { ca: authorities }
  const options = { keepAliveTimeout: 30_000, connect: { timeout: 10_000, ...tls }, bodyTimeout: 120_000 }
  // No proxy leads back to this machine.
  const isLocal = /^(127\.|localhost$|\[::1\]$)/.test(new URL(serverUrl).hostname)
  const dispatcher = isLocal
    ? new Agent(options)
    : new EnvHttpProxyAgent({ ...options, requestTls: tls, proxyTls: tls })
  return { serverUrl: serverUrl.replace(/\/+$/, ''), dispatcher, onRetry, onResponse }
}

/**
 * Sends a call, and sends it again after a transport error, a 429 or a 5xx until the signal aborts: every request of the
 * protocol may be repeated, so that a server which restarts costs a job nothing but time.
 */
export async function send(connection: Connection, first: Call): Promise<Dispatcher.ResponseData> {
  let call = first
  const patientUntil = performance.now() + (first.proxyRetryTimeoutMs ?? 0)
  for (let waitMs = MIN_RETRY_DELAY_MS; ; waitMs = Math.min(waitMs * 2, MAX_RETRY_DELAY_MS)) {
    call.signal.throwIfAborted()
    const reason = await attempt(connection, call, { outlastsProxies: performance.now() < patientUntil })
    if (typeof reason !== 'string') {
      if (waitMs > MIN_RETRY_DELAY_MS) connection.onResponse?.()
      return reason
    }
    connection.onRetry(`${call.method} ${call.path}: ${reason}`)
    call = { ...call, ...call.again }
    await delay(waitMs * (0.5 + Math.random() / 2), undefined, { signal: call.signal })
  }
}

async function attempt(
  connection: Connection,
  call: Call,
  { outlastsProxies }: { outlastsProxies: boolean },
): Promise<Dispatcher.ResponseData | string> {
  try {
    const response = await request(`${connection.serverUrl}${AGENT_API}${call.path}`, {
      dispatcher: connection.dispatcher,
      method: call.method,
      headers: { authorization: `Bearer ${call.token}`, ...contentHeaders(call.body) },
      body: isFile(call.body) ? createReadStream(call.body.file) : (call.body ?? null),
      headersTimeout: (call.longPollMs ?? 0) + (call.responseMs ?? RESPONSE_MS),
      signal: call.signal,
    })
    const { statusCode } = response
    const isOfProxy = outlastsProxies && statusCode >= 400 && !isOfServer(response)
    if (statusCode < 500 && statusCode !== 429 && !isOfProxy) return response
    await response.body.dump()
    return `status ${statusCode}`
  } catch (error) {
    call.signal.throwIfAborted()
    return `${reasonOf(error)}${hintOf(error, connection.serverUrl)}`
  }
}

/** The errors of several addresses of one host come without a message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message === '' && 'code' in error ? String(error.code) : error.message
}

const NO_TLS = /^(EPROTO|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST))$/
const UNKNOWN_AUTHORITY = /^(UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|.*SELF_SIGNED_CERT.*)$/

/** Hint for a connection error that does not resolve without a user. */
function hintOf(error: unknown, serverUrl: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (NO_TLS.test(code)) return `: the server speaks no TLS: write ${serverUrl.replace(/^https:/, 'http:')}`
  if (UNKNOWN_AUTHORITY.test(code)) return ": name the certificate of the server's authority with --ca-file"
  return ''
}

function isFile(body: Call['body']): body is { file: string; size: number } {
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

/** Whether a refusal is the server's own. */
export function isOfServer(response: Dispatcher.ResponseData) {
  return REFUSAL_TYPE.test(contentType(response))
}

/** Throws `Refused` at any other status. */
export async function requireStatus(call: Call, response: Dispatcher.ResponseData, wanted: readonly number[]) {
  if (wanted.includes(response.statusCode)) return
  const detail = detailOf(await response.body.text()).slice(0, 1_000)
  throw new RequestRejectedError(`${call.method} ${call.path}`, response.statusCode, {
    detail,
    isFinal: isOfServer(response),
  })
}

const errorDocument = z.object({ errors: z.array(z.object({ title: z.string(), detail: z.string() }).partial()) })

/** The details of an error document; of anything else its text. */
export function detailOf(text: string): string {
  const read = errorDocument.safeParse(parseJson(text))
  if (!read.success) return text
  return read.data.errors.flatMap(({ detail, title }) => detail ?? title ?? []).join('; ')
}

/** The certificate authorities that are trusted anyway, as PEM; of an older Node those that it brings with it. */
export function knownAuthorities(): readonly string[] {
  const { getCACertificates, rootCertificates }: Partial<typeof tls> = tls
  return getCACertificates?.('default') ?? rootCertificates ?? []
}

/** The value of a JSON text; undefined for what is none, such as a file that was half written when the agent was killed. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
