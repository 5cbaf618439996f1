import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TaskPayload } from '../features/tasks/run-tasks/request.ts'
import { atEnd } from './cleanup.ts'

/** A request as received. */
export type Received = {
  at: number
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
  payload: TaskPayload
  /** Whether it is a verification request. */
  isTest: boolean
}
type Reply = (received: Received, response: ServerResponse) => unknown

/** A real HTTP server in place of an integration; it returns 200 unless `onRequest` is set. */
export type TestReceiver = {
  url: string
  /** All requests except verification requests. */
  requests: Received[]
  tests: Received[]
  /** Responds to a request. */
  onRequest: Reply | undefined
  onTest: Reply | undefined
  /** The next request, or the `count`-th of all. */
  received: (count: number) => Promise<Received>
}

export async function startReceiver(): Promise<TestReceiver> {
  const waiting = new Set<() => void>()
  const receiver: TestReceiver = {
    url: '',
    requests: [],
    tests: [],
    onRequest: undefined,
    onTest: undefined,
    async received(count) {
      while (receiver.requests.length < count) await new Promise<void>((resolve) => waiting.add(resolve))
      return receiver.requests[count - 1] as Received
    },
  }
  const server = createServer((request, response) => {
    const at = performance.now()
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const payload = JSON.parse(body) as TaskPayload
      const isTest = payload.access_token === 'test-token'
      const received: Received = {
        at,
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body,
        payload,
        isTest,
      }
      ;(isTest ? receiver.tests : receiver.requests).push(received)
      const reply = isTest ? receiver.onTest : receiver.onRequest
      void Promise.resolve(reply?.(received, response)).then(() => {
        if (!response.writableEnded && !response.destroyed && reply === undefined) response.end('ok')
        return undefined
      })
      waiting.forEach((wake) => wake())
      waiting.clear()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/task`
  atEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  return receiver
}

export function hmac(body: string, key: string) {
  return createHmac('sha512', key).update(body).digest('hex')
}
