import type { z } from 'zod'
import { innermostError } from '../outbound/failure.ts'
import { type HostConnection, HostError } from './host.ts'

const TIMEOUT_MS = 30_000
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024
const RETRY_AFTER_MS = 60_000
/** A longer one is a mistake, and must not disable the connection. */
const MAX_RETRY_AFTER_MS = 60 * 60_000
const MAX_PAGES = 100
const MAX_DETAIL_LENGTH = 300

export type JsonRequest = {
  /** Completes "could not …" in the messages of errors, such as `read the repository acme/network`. */
  task: string
  /** Absolute. */
  url: string
  method?: string | undefined
  body?: unknown
  /** Removed from the message of an error, as is the token. */
  secret?: string | undefined
}

export type JsonHost = {
  name: string
  connection: Pick<HostConnection, 'fetch' | 'token'>
  headers: Record<string, string>
  /** Recognises a refusal that the status does not show. */
  refusesToken?: (response: Response) => boolean
}

/** The body of the response, null if it is empty. Throws a `HostError` for all but a 2xx, and for a body that is not JSON. */
export async function requestJson(
  host: JsonHost,
  request: JsonRequest,
): Promise<{ body: unknown; response: Response }> {
  const fail = failures(host, request)
  // An identifier such as `../user` would change the address.
  if (/\/\.{1,2}(?:[/?]|$)/.test(request.url)) throw fail('not-found', 'has no names that consist of dots')
  const { method = 'GET' } = request
  const response = await host.connection
    .fetch(request.url, {
      method,
      // A redirect would turn a POST into a GET. Renamed repositories redirect.
      redirect: method === 'GET' ? 'follow' : 'manual',
      headers: {
        accept: 'application/json',
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...host.headers,
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    .catch((error: unknown) => {
      throw fail('unavailable', `did not respond (${causeOf(error)})`, { cause: error })
    })
  const text = await limitedText(response).catch((error: unknown) => {
    throw fail('unavailable', `sent an incomplete response (${causeOf(error)})`, { cause: error })
  })
  if (host.refusesToken?.(response)) throw fail('unauthorised', 'refused the token')
  if (!response.ok) throw statusError(fail, response, detailOf(text))
  if (text.trim() === '') return { body: null, response }
  try {
    return { body: JSON.parse(text) as unknown, response }
  } catch (cause) {
    throw fail('unavailable', 'sent a response that is not JSON', { cause })
  }
}

/** Like `requestJson`, with a body that matches the schema. */
export async function request<T>(host: JsonHost, schema: z.ZodType<T>, input: JsonRequest): Promise<T> {
  const { body } = await requestJson(host, input)
  return parseResponse(host, schema, input, body)
}

export function parseResponse<T>(
  host: JsonHost,
  schema: z.ZodType<T>,
  input: Pick<JsonRequest, 'task' | 'secret'>,
  body: unknown,
) {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const at = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`
  throw failures(host, input)('unavailable', `sent an unexpected response${at}: ${issue?.message ?? ''}`)
}

/** Undefined for a 404. */
export async function orUndefined<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (error instanceof HostError && error.kind === 'not-found') return undefined
    throw error
  }
}

/** Rows of all pages. Too many are an error: an incomplete list would claim that the rest does not exist. */
export async function readPages<Row, Cursor>(
  host: JsonHost,
  task: string,
  first: Cursor,
  read: (cursor: Cursor) => Promise<{ rows: Row[]; next: Cursor | null }>,
): Promise<Row[]> {
  const rows: Row[] = []
  let cursor: Cursor | null = first
  for (let count = 0; cursor !== null; count++) {
    if (count === MAX_PAGES) throw failures(host, { task })('unavailable', `has more than ${MAX_PAGES} pages of them`)
    const page: { rows: Row[]; next: Cursor | null } = await read(cursor)
    rows.push(...page.rows)
    cursor = page.next
  }
  return rows
}

type Fail = (kind: HostError['kind'], reason: string, options?: ConstructorParameters<typeof HostError>[2]) => HostError

function failures({ name, connection }: JsonHost, { task, secret }: Pick<JsonRequest, 'task' | 'secret'>): Fail {
  return (kind, reason, options) => {
    const secrets = [connection.token, secret ?? ''].filter((value) => value !== '')
    const message = secrets.reduce((text, value) => text.replaceAll(value, '***'), reason)
    return new HostError(kind, `could not ${task}: ${name} ${message}`, options)
  }
}

function statusError(fail: Fail, response: Response, detail: string): HostError {
  const { status, headers } = response
  const because = detail === '' ? '' : ` (${detail})`
  const retryAfterMs = retryAfter(headers)
  const isLimited = status === 403 && (headers.has('retry-after') || headers.get('ratelimit-remaining') === '0')
  if (status === 429 || isLimited) {
    return fail('rate-limited', 'limits requests', { retryAfterMs: retryAfterMs ?? RETRY_AFTER_MS })
  }
  if (status === 401) return fail('unauthorised', `refused the token${because}`)
  if (status === 403) return fail('forbidden', `does not permit it for this token${because}`)
  if (status === 404 || status === 410) {
    return fail('not-found', `has no such thing, or none that the token may read${because}`)
  }
  if (status >= 400 && status < 500 && status !== 408) {
    return fail('forbidden', `refused it with status ${status}${because}`)
  }
  const delay = retryAfterMs === undefined ? {} : { retryAfterMs }
  const location = headers.get('location')
  const target = location === null ? '' : `, a redirect to ${location}: check the addresses of the connection`
  return fail('unavailable', `responded with status ${status}${because}${target}`, delay)
}

/** Milliseconds, by `Retry-After` (seconds or a date) or `RateLimit-Reset` (seconds since 1970), compared with the host's own clock. */
function retryAfter(headers: Headers): number | undefined {
  const after = headers.get('retry-after')
  if (after !== null && /^\d{1,9}$/.test(after)) return Math.min(Number(after) * 1000, MAX_RETRY_AFTER_MS)
  const now = Date.parse(headers.get('date') ?? '')
  const reset = Number(headers.get('ratelimit-reset') ?? Number.NaN)
  const until = after === null ? reset * 1000 : Date.parse(after)
  return Number.isFinite(until - now) ? Math.min(Math.max(until - now, 0), MAX_RETRY_AFTER_MS) : undefined
}

async function limitedText(response: Response): Promise<string> {
  if (response.body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.length
    text += decoder.decode(chunk, { stream: true })
    if (bytes > MAX_RESPONSE_BYTES) throw new Error(`it is larger than ${MAX_RESPONSE_BYTES} bytes`)
  }
  return text + decoder.decode()
}

/** The message in an error of the host; empty for HTML. */
function detailOf(text: string): string {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return ''
  }
  const found = findMessage(body, 0)
  return found === undefined ? '' : found.replaceAll(/\s+/g, ' ').slice(0, MAX_DETAIL_LENGTH)
}

/** Hosts put the message in `message`, `error`, `error.message` or `errors[0].message`; GitLab has lists by attribute. */
function findMessage(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null || depth > 4) return undefined
  const inner = value as Record<string, unknown>
  if (Array.isArray(value)) return findMessage(value[0], depth + 1)
  const key = ['error_description', 'message', 'error', 'errors'].find((name) => inner[name] !== undefined)
  if (key !== undefined) return findMessage(inner[key], depth + 1)
  const [first] = Object.entries(inner)
  const message = first === undefined || depth === 0 ? undefined : findMessage(first[1], depth + 1)
  return message === undefined ? undefined : `${first?.[0]}: ${message}`
}

function causeOf(error: unknown): string {
  const cause = innermostError(error)
  return cause instanceof Error ? cause.message : String(cause)
}
