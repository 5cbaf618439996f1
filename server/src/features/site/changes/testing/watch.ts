import { changeSchema, endSchema, type Change } from '@groundstate/contract/changes'
import { type Dispatcher, request } from 'undici'
import { atEnd } from '../../../../testing/cleanup.ts'

export type StreamEvent = { event: string; id: string | undefined; data: string }

/** A client that reads a stream of changes like a browser. */
export type Watch = {
  status: number
  headers: Dispatcher.ResponseData['headers']
  events: StreamEvent[]
  changes: Change[]
  /** The id of the last event. */
  cursor: string | undefined
  isOver: boolean
  leave: () => Promise<void>
  /** Comments and retry delays. */
  others: string[]
}

type Credentials = { token?: string; headers?: Record<string, string>; after?: string | undefined }

/** Opens the stream of an organization at the server at `url`. */
export async function watch(url: string, organization: string, { token, headers, after }: Credentials): Promise<Watch> {
  const controller = new AbortController()
  const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`
  const response = await request(`${url}/api/v2/organizations/${organization}/changes${query}`, {
    headers: {
      accept: 'text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    signal: controller.signal,
    headersTimeout: 10_000,
    bodyTimeout: 0,
  })
  const watched: Watch = {
    status: response.statusCode,
    headers: response.headers,
    events: [],
    changes: [],
    cursor: after,
    isOver: false,
    others: [],
    leave: async () => {
      controller.abort()
      await reading
    },
  }
  const reading = read(watched, response.body)
    .catch(() => {})
    .finally(() => {
      watched.isOver = true
    })
  atEnd(() => watched.leave())
  return watched
}

async function read(watched: Watch, body: AsyncIterable<Buffer>) {
  let text = ''
  for await (const bytes of body) {
    text += bytes.toString()
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      take(watched, text.slice(0, end).split('\n'))
      text = text.slice(end + 2)
    }
  }
}

function take(watched: Watch, lines: string[]) {
  const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const id = field('id')
  if (id !== undefined) watched.cursor = id
  const [event, data] = [field('event'), field('data')]
  if (event === undefined || data === undefined) return void watched.others.push(...lines)
  watched.events.push({ event, id, data })
  if (event === 'change') watched.changes.push(changeSchema.parse(JSON.parse(data)))
  if (event === 'end') endSchema.parse(JSON.parse(data))
}
