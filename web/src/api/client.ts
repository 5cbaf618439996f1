import type { errorsDocument, Wire } from '@groundstate/contract/answers'

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

/** Sends a request to the API with the session's cookie. Throws `ApiError` for error answers. */
export async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`/api/v2${path}`, {
    method,
    headers: {
      accept: 'application/vnd.api+json',
      ...(body !== undefined && { 'content-type': 'application/vnd.api+json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new ApiError(response.status, refusals(text))
  return (text === '' ? undefined : JSON.parse(text)) as T
}

export async function get<T>(path: string) {
  return request<T>('GET', path)
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
