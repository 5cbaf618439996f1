/** What the API refused: its status, and each `detail` in a line. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export type Identifier = { id: string; type: string }
export type Resource<Attributes> = {
  id: string
  type: string
  attributes: Attributes
  relationships?: Record<string, { data?: Identifier | Identifier[] | null }>
}
export type Document<Attributes> = { data: Resource<Attributes>; included?: Resource<Record<string, unknown>>[] }
export type ListDocument<Attributes> = {
  data: Resource<Attributes>[]
  included?: Resource<Record<string, unknown>>[]
  meta?: { pagination?: { 'current-page': number; 'total-pages': number; 'total-count': number } }
}

/** A request to the API with the session's cookie. Throws `ApiError` for what it refuses. */
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
  if (!response.ok) throw new ApiError(response.status, errorMessage(text) ?? `the server answered ${response.status}`)
  return (text === '' ? undefined : JSON.parse(text)) as T
}

export async function get<T>(path: string) {
  return request<T>('GET', path)
}

function errorMessage(text: string) {
  try {
    const { errors } = JSON.parse(text) as { errors?: { title?: string; detail?: string }[] }
    return errors?.map((error) => error.detail ?? error.title).join('\n')
  } catch {
    return undefined
  }
}
