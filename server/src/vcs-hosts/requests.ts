import { z } from 'zod'
import { failureReason } from '../outbound/failure.ts'
import { type HostConnection, HostError } from './host.ts'

/*
 * Requests of hosts whose APIs speak JSON over HTTP. `task` says what was asked, as an infinitive that completes "could not …", such as
 * "read the repository acme/network".
 */

export type Requests = {
  /**
   * A `fetch` for one task that throws a `HostError` for anything but a 2xx. It follows redirects within the API, as of repositories that
   * were renamed.
   */
  fetchFor(task: string): typeof fetch
  /** A body as the schema has it; a `HostError` if the host sent something else. */
  parse<Schema extends z.ZodType>(task: string, schema: Schema, body: unknown): z.output<Schema>
}

const TIMEOUT_MS = 30_000
/** When a host limits requests without saying for how long. GitHub's documentation asks for at least one minute. */
const DEFAULT_RETRY_AFTER_MS = 60_000
/** No host limits requests for longer: a larger value is a mistake, and must not disable the connection for good. */
const MAX_RETRY_AFTER_MS = 60 * 60_000
const MAX_REDIRECTS = 3
/** Of a list that must be complete. */
const MAX_PAGES = 100
const MAX_REASON_LENGTH = 300

export function createRequests(
  name: string,
  { apiUrl, fetch: send }: Pick<HostConnection, 'apiUrl' | 'fetch'>,
  timeoutMs = TIMEOUT_MS,
): Requests {
  const { host, origin } = new URL(apiUrl)
  const label = `${name} (${host})`

  async function request(task: string, url: string, options: RequestInit, redirects = 0): Promise<Response> {
    const response = await send(url, { ...options, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) }).catch(
      (error: unknown) => {
        const reason = isTimeout(error) ? `no response within ${timeoutMs / 1000} s` : failureReason(error)
        throw new HostError('unavailable', `${label} did not respond, could not ${task}: ${reason}`, { cause: error })
      },
    )
    if (response.ok) return response

    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel()
      const location = response.headers.get('location')
      const target = location === null ? null : URL.parse(location, url)
      // The token goes to no other address than the one it was issued for.
      const isRepeatable = [307, 308].includes(response.status) || (options.method ?? 'GET') === 'GET'
      if (target?.origin === origin && isRepeatable && redirects < MAX_REDIRECTS) {
        return request(task, target.href, options, redirects + 1)
      }
      const place = target ? `${target.origin}${target.pathname}` : 'nowhere'
      const problem = `it redirects to ${place} (${response.status}): check the API URL`
      throw new HostError('unavailable', `${label} has moved, could not ${task}: ${problem}`)
    }
    throw errorOf(response, `could not ${task}`, label, await reasonOf(response))
  }

  return {
    fetchFor: (task) => async (input, options) =>
      request(task, input instanceof Request ? input.url : String(input), options ?? {}),

    parse(task, schema, body) {
      const result = schema.safeParse(body)
      if (result.success) return result.data
      const isJson = typeof body === 'object' && !(body instanceof ArrayBuffer)
      const problem = isJson ? z.prettifyError(result.error).slice(0, MAX_REASON_LENGTH) : 'it is not JSON'
      throw new HostError('unavailable', `${label} sent an unexpected response, could not ${task}: ${problem}`)
    },
  }
}

/** The result of a request, or undefined if what it asked for does not exist. */
export async function undefinedIfMissing<T>(result: Promise<T>): Promise<T | undefined> {
  return result.catch((error: unknown) => {
    if (error instanceof HostError && error.kind === 'not-found') return undefined
    throw error
  })
}

/** The parts of the identifier of a repository that has an owner; undefined if it is none. */
export function ownerAndName(identifier: string): { owner: string; name: string } | undefined {
  const [, owner, name] = /^(?!\.\.?\/)([\w.-]+)\/(?!\.\.?$)([\w.-]+)$/.exec(identifier) ?? []
  return owner === undefined || name === undefined ? undefined : { owner, name }
}

export function requireOwnerAndName(identifier: string) {
  const parts = ownerAndName(identifier)
  if (!parts) throw new HostError('not-found', `"${identifier}" is not of the form owner/repository`)
  return parts
}

/** The number of the next page by the response's `Link` header (RFC 8288), of hosts that number pages. */
export function nextPage(link: string | null | undefined): number | null {
  const [, target] = /<([^<>]*)>\s*;[^<]*\brel="?next\b/.exec(link ?? '') ?? []
  // Only the number counts: behind a proxy, the host's own address may be another one.
  const page = target === undefined ? Number.NaN : Number(URL.parse(target, 'http://host')?.searchParams.get('page'))
  return Number.isSafeInteger(page) && page > 0 ? page : null
}

/**
 * Reads pages until `isEnough`, or all of them. A list of more than 100 pages is an error, since an incomplete list would claim that the
 * rest does not exist.
 */
export async function readPages<Row>(
  task: string,
  read: (page: number) => Promise<{ data: Row[]; next: number | null }>,
  isEnough: (rows: Row[]) => boolean = () => false,
): Promise<Row[]> {
  const rows: Row[] = []
  let page: number | null = 1
  for (let count = 0; page !== null; count++) {
    if (count === MAX_PAGES)
      throw new HostError('unavailable', `could not ${task}: there are more than ${MAX_PAGES} pages`)
    const { data, next }: { data: Row[]; next: number | null } = await read(page)
    rows.push(...data)
    if (isEnough(rows)) break
    page = next
  }
  return rows
}

function errorOf({ status, headers }: Response, failed: string, label: string, reason: string) {
  const detail = reason === '' ? '' : `: ${reason}`
  const limited =
    status === 429 ||
    (status === 403 &&
      (headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0' || /\brate limit/i.test(reason)))
  if (limited) {
    return new HostError('rate-limited', `${label} limits the number of requests, ${failed} (${status})`, {
      retryAfterMs: retryAfterMs(headers),
    })
  }
  if (status === 401) return new HostError('unauthorised', `${label} refused the token, ${failed} (401)`)
  if (status === 404) {
    return new HostError('not-found', `${label} ${failed} (404): it does not exist, or the token may not read it`)
  }
  if (status < 500) return new HostError('forbidden', `${label} refused the request, ${failed} (${status})${detail}`)
  return new HostError('unavailable', `${label} is not available, ${failed} (${status})`)
}

/** From `Retry-After`, in seconds or as a date, or GitHub's `x-ratelimit-reset`, in seconds since 1970, by the clock of the host. */
function retryAfterMs(headers: Headers) {
  const now = Date.parse(headers.get('date') ?? '')
  const after = headers.get('retry-after')
  const reset = headers.get('x-ratelimit-reset')
  const candidates = [
    after === null ? Number.NaN : Number(after) * 1000,
    Date.parse(after ?? '') - now,
    reset === null ? Number.NaN : Number(reset) * 1000 - now,
  ]
  const wait = candidates.find((ms) => Number.isFinite(ms) && ms >= 0) ?? DEFAULT_RETRY_AFTER_MS
  return Math.min(Math.max(wait, 1000), MAX_RETRY_AFTER_MS)
}

const errorBody = z.object({ message: z.string() })

/** The host's own explanation; empty if there is none. */
async function reasonOf(response: Response) {
  const text = await response.text().catch(() => '')
  const { data } = errorBody.safeParse(parsedJson(text))
  return data?.message.slice(0, MAX_REASON_LENGTH) ?? ''
}

/** The parsed text, or undefined if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isTimeout(error: unknown) {
  return error instanceof Error && error.name === 'TimeoutError'
}
