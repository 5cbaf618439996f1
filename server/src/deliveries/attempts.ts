import { createHmac } from 'node:crypto'
import { sql } from 'kysely'
import type { Ctx } from '../app.ts'
import { isSiteAdmin } from '../auth/actor.ts'
import type { Exchange } from '../outbound/outbound.ts'

/** Columns that every log of attempts has; `response_body` is not always text. */
export type AttemptColumns = {
  sent_at: Date
  duration_ms: number
  url: string
  /** Sent to a private address, whose response only some users may see. */
  is_private: boolean
  request_headers: Record<string, string>
  request_body: string
  response_status: number | null
  response_headers: Record<string, string | string[]> | null
  response_body: Buffer | null
  response_truncated: boolean
}

type Attempt = {
  request: { url: string; headers: Record<string, string>; body: Buffer }
  exchange: Exchange
  /** Texts that the log must not contain. */
  secrets: readonly string[]
}

/** The columns of an attempt, without its secrets and without headers that contain credentials. */
export function attemptColumns(ctx: Pick<Ctx, 'now'>, { request, exchange, secrets }: Attempt): AttemptColumns {
  const { response } = exchange
  return {
    sent_at: new Date(ctx.now().getTime() - (Date.now() - exchange.startedAt)),
    duration_ms: exchange.durationMs,
    url: redactText(request.url, secrets),
    is_private: exchange.isPrivate,
    request_headers: request.headers,
    request_body: redactText(request.body.toString(), secrets),
    response_status: response?.status ?? null,
    response_headers: response ? redactHeaders(response.headers, secrets) : null,
    response_body: response ? redactBytes(response.body, secrets) : null,
    response_truncated: response?.truncated ?? false,
  }
}

/** The names and values of an attempt's columns, for an INSERT that has others, too. */
export function attemptInsert(row: AttemptColumns) {
  return {
    names: sql`sent_at, duration_ms, url, is_private, request_headers, request_body, response_status, response_headers,
        response_body, response_truncated`,
    values: sql`${row.sent_at}, ${row.duration_ms}, ${row.url}, ${row.is_private}, ${JSON.stringify(row.request_headers)}::jsonb,
        ${row.request_body}, ${row.response_status}, ${row.response_headers && JSON.stringify(row.response_headers)}::jsonb,
        ${row.response_body}, ${row.response_truncated}`,
  }
}

/** Why an exchange did not acknowledge its request, for users; `only` names the responses that do. */
export function attemptError({ response, error }: Exchange, only: string) {
  if (!response) return error
  const redirect = response.status >= 300 && response.status < 400 ? ', and redirects are not followed' : ''
  return `the response was ${response.status}: ${only}${redirect}`
}

type Retry = { isImmediate: boolean; maxMs?: number }

/** Time of the attempt after this one; null if the deadline is earlier. */
export function nextAttempt(
  { now }: Pick<Ctx, 'now'>,
  { attempt, deadline_at: deadline }: { attempt: number; deadline_at: Date },
  { isImmediate, maxMs }: Retry,
) {
  const next = new Date(now().getTime() + (isImmediate ? 0 : backoff(attempt, Math.random(), maxMs)))
  return next < deadline ? next : null
}

const FIRST_MS = 1000
const MAX_MS = 60_000

/**
 * Exponential backoff after attempt `attempt` (from 1), in ms: up to a second at first and `maxMs` at most. `random` in [0, 1) is the
 * jitter.
 */
export function backoff(attempt: number, random: number, maxMs = MAX_MS) {
  const longest = Math.min(maxMs, FIRST_MS * 2 ** Math.min(attempt - 1, 16))
  return Math.round(longest * (0.5 + random / 2))
}

/** Lower-case hex HMAC-SHA512 of the body's bytes; empty without a key (public documentation: run-tasks-integration, notification-configurations). */
export function bodySignature(body: Buffer, key: string | undefined) {
  return key === undefined ? '' : createHmac('sha512', key).update(body).digest('hex')
}

/** The header with which receivers recognise this server. */
export function userAgent(baseUrl: string) {
  return `Groundstate/1.0 (+${baseUrl}; Groundstate)`
}

/** The result of a request in one line. Of a hidden response it has only the status. */
export function describeExchange({ response, error }: Exchange, { isHidden }: { isHidden: boolean }) {
  if (!response) return error
  if (isHidden) return `the response was ${response.status}`
  const text = response.body.toString('utf8').replaceAll(/\s+/g, ' ').trim()
  const start = text.length > 200 ? `${text.slice(0, 200)}…` : text
  return start === '' ? `the response was ${response.status}` : `the response was ${response.status}: ${start}`
}

type ReceivedResponse = {
  status: number
  headers: Record<string, string | string[]>
  body: string
  'is-truncated': boolean
}

/** The response of a receiver as shown to the actor. Of a hidden response only the status remains. */
export function shownResponse(response: ReceivedResponse, { isHidden }: { isHidden: boolean }) {
  const shown = isHidden ? { status: response.status, headers: {}, body: '', 'is-truncated': false } : response
  return { ...shown, 'is-withheld': isHidden }
}

type StoredAttempt = Omit<AttemptColumns, 'request_headers' | 'response_headers'> & {
  request_headers: unknown
  response_headers: unknown
  isHidden: boolean
}

/** The request and response of an attempt as attributes of a resource. */
export function attemptAttributes(row: StoredAttempt) {
  const response =
    row.response_status === null
      ? null
      : {
          status: row.response_status,
          headers: row.response_headers as Record<string, string | string[]>,
          body: row.response_body?.toString('utf8') ?? '',
          'is-truncated': row.response_truncated,
        }
  return {
    'sent-at': row.sent_at,
    'duration-ms': row.duration_ms,
    request: {
      method: 'POST' as const,
      url: row.url,
      headers: row.request_headers as Record<string, string>,
      body: row.request_body,
    },
    response: response && shownResponse(response, row),
  }
}

/** Whether the response is hidden because it comes from a private address. Otherwise users could probe the server's network. */
export function isWithheld({ actor }: Pick<Ctx, 'actor'>, { isPrivate }: { isPrivate: boolean }) {
  return isPrivate && !isSiteAdmin(actor)
}

const HIDDEN = '[redacted]'
const SECRET_HEADERS = new Set(['set-cookie', 'authorization', 'proxy-authorization', 'www-authenticate', 'cookie'])

function redactText(text: string, secrets: readonly string[]) {
  return secrets.reduce((redacted, secret) => redacted.replaceAll(secret, HIDDEN), text)
}

function redactHeaders(headers: Record<string, string | string[]>, secrets: readonly string[]) {
  const redacted = (value: string | string[]) =>
    Array.isArray(value) ? value.map((text) => redactText(text, secrets)) : redactText(value, secrets)
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      SECRET_HEADERS.has(name.toLowerCase()) ? HIDDEN : redacted(value),
    ]),
  )
}

/** As `redactText`, for bytes that may not be text. */
function redactBytes(bytes: Buffer, secrets: readonly string[]) {
  return secrets.some((secret) => bytes.includes(secret))
    ? Buffer.from(redactText(bytes.toString('latin1'), secrets), 'latin1')
    : bytes
}
