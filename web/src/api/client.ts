import { parseExact } from '@groundstate/contract/exact-json'
import type { Wire, errorsDocument } from '@groundstate/contract/responses'
import { serverPath } from './base.ts'

/** One error of a response; `pointer` locates it in the request body: `/data/attributes/otp`. */
type Refusal = { detail: string; pointer: string | undefined }

/** An error response of the API. The message has one detail per line. */
export class ApiError extends Error {
  readonly status: number
  readonly refusals: readonly Refusal[]

  constructor(status: number, refusals: readonly Refusal[]) {
    super(refusals.map(({ detail }) => detail).join('\n') || `the server responded with status ${status}`)
    this.status = status
    this.refusals = refusals
  }
}

/** A caught value as an error. */
export function errorOf(cause: unknown) {
  return cause instanceof Error ? cause : new Error(String(cause))
}

/** Whether the resource does not exist or is hidden from the user; cached data about it must no longer be shown. */
export function isNotFound(error: Error | null) {
  return error instanceof ApiError && error.status === 404
}

/** Sends a request to the API with the session's cookie: JSON, or a file. Throws `ApiError` for error responses. */
export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const isFile = body instanceof Blob
  const response = await fetch(apiPath(path), {
    method,
    headers: {
      accept: 'application/vnd.api+json',
      ...(body !== undefined && { 'content-type': isFile ? body.type : 'application/vnd.api+json' }),
    },
    ...(body !== undefined && { body: isFile ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  const text = await response.text()
  if (!response.ok) throw new ApiError(response.status, errorsIn(text))
  return (text === '' ? undefined : parseExact(text)) as T
}

export async function get<T>(path: string, signal?: AbortSignal) {
  return request<T>('GET', path, undefined, signal)
}

/** Requests a document and returns its `data`. */
export async function getData<Document extends { data: unknown }>(
  path: string,
  signal?: AbortSignal,
): Promise<Document['data']> {
  return (await get<Document>(path, signal)).data
}

type PutOptions = { signal: AbortSignal; onProgress: (bytes: number) => void }

/** Uploads a file to a signed URL of the server. Throws `ApiError` for error responses; `fetch` does not report progress. */
export async function putFile(path: string, file: Blob, { signal, onProgress }: PutOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const upload = new XMLHttpRequest()
    upload.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded))
    upload.addEventListener('load', () => {
      if (upload.status < 400) resolve()
      else reject(new ApiError(upload.status, errorsIn(upload.responseText)))
    })
    upload.addEventListener('error', () => reject(new Error('the upload was interrupted')))
    upload.addEventListener('abort', () => reject(new DOMException('the upload was canceled', 'AbortError')))
    signal.addEventListener('abort', () => upload.abort())
    upload.open('PUT', path)
    upload.setRequestHeader('content-type', 'application/octet-stream')
    upload.send(file)
  })
}

/** The URL path of an API path: `apiPath('/runs/run-1')`. Of another API it is whole: `/api/registry/private/v2/gpg-keys`. */
export function apiPath(path: string) {
  return serverPath(path.startsWith('/api/') ? path : `/api/v2${path}`)
}

/** Path and query of a URL from the API, such as that of a log: the browser may reach the server under another host name. */
export function ownPath(url: string) {
  const { pathname, search } = new URL(url, document.baseURI)
  return pathname + search
}

/** A query string without undefined and empty parameters; `''` if none is left. */
export function queryString(params: Record<string, string | number | undefined>) {
  const set = Object.entries(params).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

function errorsIn(text: string): Refusal[] {
  try {
    const { errors } = JSON.parse(text) as Partial<Wire<typeof errorsDocument>>
    return (errors ?? []).map(({ title, detail, source }) => ({
      detail: detail ?? title ?? 'refused',
      pointer: source?.pointer,
    }))
  } catch {
    // A proxy may respond in its own format.
    return []
  }
}
