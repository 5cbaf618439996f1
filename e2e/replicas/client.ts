import { ADMIN_TOKEN } from '../server.ts'

/** How long a client waits for a response, in ms. */
const TIMEOUT_MS = 4000

/** `unknown`: a request that failed may or may not have taken effect, now or later. `refused`: it had none. */
export type Outcome =
  | { kind: 'acknowledged'; status: number; body: any }
  | { kind: 'refused'; status: number; detail: string }
  | { kind: 'unknown'; reason: string }

export type RequestOptions = { token?: string; timeoutMs?: number }

/** Sends a request to the API of the server at `url`; a path that is a URL is used as it is. Never throws. */
export async function send(
  url: string,
  [method, path]: readonly [string, string],
  body?: unknown,
  { token = ADMIN_TOKEN, timeoutMs = TIMEOUT_MS }: RequestOptions = {},
): Promise<Outcome> {
  try {
    const isBinary = Buffer.isBuffer(body)
    const response = await fetch(path.startsWith('http') ? path : `${url}/api/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && {
          'content-type': isBinary ? 'application/octet-stream' : 'application/vnd.api+json',
        }),
      },
      ...(body !== undefined && { body: isBinary ? new Uint8Array(body) : JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await response.text()
    if (response.status >= 500) return { kind: 'unknown', reason: `${response.status} ${text.slice(0, 200)}` }
    if (response.status >= 400) return { kind: 'refused', status: response.status, detail: text.slice(0, 300) }
    return { kind: 'acknowledged', status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return { kind: 'unknown', reason: String(reason) }
  }
}

/** The body of a JSON:API request. */
export function resource(type: string, attributes: object, relationships?: Record<string, [string, string]>) {
  const related = Object.entries(relationships ?? {}).map(([name, [kind, id]]) => [name, { data: { type: kind, id } }])
  return { data: { type, attributes, ...(relationships && { relationships: Object.fromEntries(related) }) } }
}
