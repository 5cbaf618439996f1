import { parseExact } from '@groundstate/contract/exact-json'
import type { Wire, errorsDocument } from '@groundstate/contract/responses'
import { serverPath } from './base.ts'

/** One error; `pointer` is its place in the body, such as `/data/attributes/otp`. */
export type Refusal = { detail: string; pointer: string | undefined }

/** An error answer of the API: its status, and the details, one a line. */
export class ApiError extends Error {
  readonly status: number
  readonly refusals: readonly Refusal[]

  constructor(status: number, refusals: readonly Refusal[]) {
    super(refusals.map(({ detail }) => detail).join('\n') || `the server answered ${status}`)
    this.status = status
    this.refusals = refusals
  }
}

/** Whether the thing is gone, or not for this person: then what was read of it before is not shown any longer. */
export function isNotFound(error: Error | null) {
  return error instanceof ApiError && error.status === 404
}

/** Sends a request to the API with the session's cookie. Throws `ApiError` for error answers. */
export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await fetch(apiPath(path), {
    method,
    headers: {
      accept: 'application/vnd.api+json',
      ...(body !== undefined && { 'content-type': 'application/vnd.api+json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  const text = await response.text()
  if (!response.ok) throw new ApiError(response.status, refusals(text))
  return (text === '' ? undefined : parseExact(text)) as T
}

export async function get<T>(path: string, signal?: AbortSignal) {
  return request<T>('GET', path, undefined, signal)
}

/** The address of a path of the API on this server. */
export function apiPath(path: string) {
  return serverPath(`/api/v2${path}`)
}

/**
 * The path on this server of an address that the API has given, such as that of a log: the server may be reached under
 * another name than the one in the address.
 */
export function ownPath(url: string) {
  const { pathname, search } = new URL(url, document.baseURI)
  return pathname + search
}

/** A query string without the parameters that are undefined or empty; `''` when nothing is left. */
export function queryString(params: Record<string, string | number | undefined>) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

function refusals(text: string): Refusal[] {
  try {
    const { errors } = JSON.parse(text) as Partial<Wire<typeof errorsDocument>>
    return (errors ?? []).map(({ title, detail, source }) => ({
      detail: detail ?? title ?? 'refused',
      pointer: source?.pointer,
    }))
  } catch {
    // A proxy may answer in its own format.
    return []
  }
}
