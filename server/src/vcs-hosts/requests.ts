import { storableJson } from '@groundstate/contract/storable'
import type { z } from 'zod'
import { failureReason } from '../outbound/failure.ts'
import { type HostConnection, HostError } from './host.ts'

/* Requests of hosts whose APIs speak JSON over HTTP. */

const TIMEOUT_MS = 30_000
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024
/** When a host limits requests without saying for how long. GitHub's documentation asks for at least one minute. */
const DEFAULT_RETRY_AFTER_MS = 60_000
/** A longer one is a mistake, and must not disable the connection. */
const MAX_RETRY_AFTER_MS = 60 * 60_000
const MAX_REDIRECTS = 3
/** Maximum number of pages of a list that must be complete. */
const MAX_PAGES = 100
const MAX_DETAIL_LENGTH = 300

export type ApiHost = {
  name: string
  connection: Pick<HostConnection, 'apiUrl' | 'fetch' | 'timeoutMs'> & { token?: string }
  headers?: Record<string, string>
  /** Recognises a refusal that the status does not show. */
  refusesToken?: (response: Response) => boolean
  /** Recognises a 401 that is about a permission: the host accepted the token. */
  acceptsToken?: (response: Response) => boolean
}

/** The subject of a request, for error messages. */
export type Task = {
  /** An infinitive that completes "could not …", such as `read the repository acme/network`. */
  task: string
  /** Removed from the messages of errors, as is the token. */
  secrets?: readonly string[] | undefined
}

export type ApiRequest = Task & {
  /** Absolute. */
  url: string
  method?: string | undefined
  /** Sent as JSON, or as a form. */
  body?: unknown
}

/** The response with a body that matches the schema. */
export async function request<T>(host: ApiHost, schema: z.ZodType<T>, input: ApiRequest): Promise<T> {
  const { body } = await requestJson(host, input)
  return parseResponse(host, schema, { ...input, body })
}

/** The body of the response, null if it is empty. Throws a `HostError` for all but a 2xx, and for a body that is not JSON. */
export async function requestJson(host: ApiHost, input: ApiRequest): Promise<{ body: unknown; headers: Headers }> {
  const { method = 'GET', url, body } = input
  const isForm = body instanceof URLSearchParams
  const content = isForm ? body.toString() : JSON.stringify(body)
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
  const { text, response } = await send(host, input, url, {
    method,
    headers: {
      accept: 'application/json',
      'user-agent': 'groundstate',
      ...(content === undefined ? {} : { 'content-type': type }),
      ...host.headers,
    },
    ...(content === undefined ? {} : { body: content }),
  })
  const value = text.trim() === '' ? null : parsedJson(text)
  if (value === undefined) throw failures(host, input)('unavailable', 'sent a response that is not JSON')
  return { body: value, headers: response.headers }
}

/** A `fetch` for libraries, which throws a `HostError` for all but a 2xx. */
export function fetchFor(host: ApiHost, task: Task): typeof fetch {
  return async (input, options) => {
    const url = input instanceof Request ? input.url : String(input)
    const { text, response } = await send(host, task, url, options ?? {})
    return new Response(text === '' ? null : text, response)
  }
}

/** Throws a `HostError` for a body that does not match. */
export function parseResponse<T>(host: ApiHost, schema: z.ZodType<T>, { body, ...task }: Task & { body: unknown }): T {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const at = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`
  const problem = typeof body === 'string' ? 'it is not JSON' : (issue?.message ?? '')
  throw failures(host, task)('unavailable', `sent an unexpected response${at}: ${problem}`)
}

/** Undefined if what was asked for does not exist. */
export async function undefinedIfMissing<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error: unknown) => {
    if (error instanceof HostError && error.kind === 'not-found') return undefined
    throw error
  })
}

type PageReader<Row> = (page: number) => Promise<{ data: Row[]; next: number | null }>

/**
 * Reads pages from the first until `isEnough`, or all of them. Too many are an error: an incomplete list would claim that the rest does not
 * exist.
 */
export async function readPages<Row>(
  task: string,
  read: PageReader<Row>,
  { first = 1, isEnough = () => false }: { first?: number; isEnough?: (rows: Row[]) => boolean } = {},
): Promise<Row[]> {
  const rows: Row[] = []
  let page: number | null = first
  for (let count = 0; page !== null; count++) {
    if (count === MAX_PAGES)
      throw new HostError('unavailable', `could not ${task}: there are more than ${MAX_PAGES} pages`)
    const { data, next }: Awaited<ReturnType<PageReader<Row>>> = await read(page)
    rows.push(...data)
    if (isEnough(rows)) break
    page = next
  }
  return rows
}

const MAX_SEARCHED_COMMENTS = 300

export type FoundComment = { id: number; text: string }

/** The id of the first comment that contains `text`, for `findComment` of a host. */
export async function searchComments(
  { task, text }: Task & { text: string },
  read: PageReader<FoundComment>,
  { first = 1 }: { first?: number } = {},
): Promise<string | undefined> {
  const matches = (comment: FoundComment) => comment.text.includes(text)
  const isEnough = (rows: FoundComment[]) => rows.length >= MAX_SEARCHED_COMMENTS || rows.some(matches)
  const found = (await readPages(task, read, { first, isEnough })).find(matches)
  return found && String(found.id)
}

/** The number of the next page by the response's `Link` header (RFC 8288), of hosts that number pages. */
export function nextPage(link: string | null | undefined): number | null {
  const [, target] = /<([^<>]*)>\s*;[^<]*\brel="?next\b/.exec(link ?? '') ?? []
  // Only the number counts: behind a proxy, the host's own address may be another one.
  const page = target === undefined ? Number.NaN : Number(URL.parse(target, 'http://host')?.searchParams.get('page'))
  return Number.isSafeInteger(page) && page > 0 ? page : null
}

async function send(
  host: ApiHost,
  task: Task,
  url: string,
  options: RequestInit,
): Promise<{ text: string; response: Response }> {
  const fail = failures(host, task)
  // An identifier such as `../user` would change the address.
  if (/\/\.{1,2}(?:[/?]|$)/.test(url)) throw fail('not-found', 'has no names that consist of dots')
  const { timeoutMs = TIMEOUT_MS } = host.connection
  const reasonOf = (error: unknown) =>
    error instanceof Error && error.name === 'TimeoutError'
      ? `no response within ${timeoutMs / 1000} s`
      : failureReason(error)

  const signal = AbortSignal.timeout(timeoutMs)
  let target = url
  for (let redirects = 0; ; redirects++) {
    const response = await host.connection
      .fetch(target, { ...options, redirect: 'manual', signal })
      .catch((cause: unknown) => {
        throw fail('unavailable', `did not respond (${reasonOf(cause)})`, { cause })
      })
    const text = await limitedText(response).catch((cause: unknown) => {
      throw fail('unavailable', `sent an incomplete response (${reasonOf(cause)})`, { cause })
    })
    if (host.refusesToken?.(response)) throw fail('unauthorised', 'refused the token')
    if (response.ok) return { text, response }
    if (response.status < 300 || response.status >= 400) {
      const isPermission = response.status === 401 && host.acceptsToken?.(response) === true
      throw statusError(
        fail,
        { status: isPermission ? 403 : response.status, headers: response.headers },
        detailOf(text),
      )
    }

    // Repositories that were renamed redirect. Other redirects would turn a POST into a GET.
    const isRepeatable = [307, 308].includes(response.status) || (options.method ?? 'GET') === 'GET'
    const next = URL.parse(response.headers.get('location') ?? '', target)
    // The token goes to no other address than the one it was issued for.
    if (next?.origin !== new URL(url).origin || !isRepeatable || redirects === MAX_REDIRECTS) {
      const place = next ? `${next.origin}${next.pathname}` : 'nowhere'
      throw fail('unavailable', `redirects to ${place} (${response.status}): check the addresses of the connection`)
    }
    target = next.href
  }
}

/** An error of the host in our words, without secrets. */
export function hostError(
  host: ApiHost,
  task: Task,
  { kind, reason }: { kind: HostError['kind']; reason: string },
): HostError {
  return failures(host, task)(kind, reason)
}

type Fail = (kind: HostError['kind'], reason: string, options?: ConstructorParameters<typeof HostError>[2]) => HostError

function failures({ name, connection }: ApiHost, { task, secrets = [] }: Task): Fail {
  return (kind, reason, options) => {
    const hidden = [connection.token ?? '', ...secrets].filter((value) => value !== '')
    const text = hidden.reduce(withoutSecret, reason)
    return new HostError(kind, `could not ${task}: ${name} (${new URL(connection.apiUrl).host}) ${text}`, options)
  }
}

/** Below it, only whole words are hidden: a short token is part of other words. */
const MIN_SECRET_LENGTH = 8

function withoutSecret(text: string, secret: string) {
  if (secret.length >= MIN_SECRET_LENGTH) return text.replaceAll(secret, '***')
  return text.replaceAll(/[^\s"'(),:;]+/g, (word) => (word === secret ? '***' : word))
}

function statusError(fail: Fail, { status, headers }: Pick<Response, 'status' | 'headers'>, detail: string): HostError {
  const because = detail === '' ? '' : ` (${detail})`
  const wait = retryAfterMs(headers)
  const isLimited =
    headers.has('retry-after') || rateLimit(headers, 'remaining') === '0' || /\brate limit/i.test(detail)
  if (status === 429 || (status === 403 && isLimited)) {
    return fail('rate-limited', `limits requests${because}`, { retryAfterMs: wait ?? DEFAULT_RETRY_AFTER_MS })
  }
  if (status === 401) return fail('unauthorised', `refused the token${because}`)
  if (status === 403) return fail('forbidden', `does not permit it for this token${because}`)
  if (status === 404 || status === 410) {
    return fail('not-found', `has no such thing, or none that the token may read${because}`)
  }
  if (status < 500 && status !== 408) return fail('forbidden', `refused it with status ${status}${because}`)
  return fail(
    'unavailable',
    `responded with status ${status}${because}`,
    wait === undefined ? {} : { retryAfterMs: wait },
  )
}

/** GitHub has a prefix. */
const rateLimit = (headers: Headers, name: string) =>
  headers.get(`ratelimit-${name}`) ?? headers.get(`x-ratelimit-${name}`)

/**
 * From `Retry-After`, in seconds or as a date, or the reset of the rate limit, in seconds since 1970, by the clock of the host. Undefined if
 * it has passed, too.
 */
function retryAfterMs(headers: Headers): number | undefined {
  const now = Date.parse(headers.get('date') ?? '')
  const after = headers.get('retry-after') ?? ''
  const reset = rateLimit(headers, 'reset') ?? ''
  const candidates = [
    after === '' ? Number.NaN : Number(after) * 1000,
    Date.parse(after) - now,
    reset === '' ? Number.NaN : Number(reset) * 1000 - now,
  ]
  const wait = candidates.find((ms) => Number.isFinite(ms) && ms >= 0)
  return wait === undefined ? undefined : Math.min(Math.max(wait, 1000), MAX_RETRY_AFTER_MS)
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
  return storableJson(text + decoder.decode())
}

/** The message in an error of the host; empty for HTML. */
function detailOf(text: string): string {
  const found = findMessage(parsedJson(text), 0)
  return found === undefined ? '' : found.replaceAll(/\s+/g, ' ').slice(0, MAX_DETAIL_LENGTH).toWellFormed()
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

/** Undefined if it is not JSON. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
