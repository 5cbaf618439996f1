/**
 * Receives requests of run tasks and notifications, and calls back with a result. Each request is in the journal before the
 * response, and callbacks continue after a kill.
 *
 *     node receiver-program.ts 9001 /tmp/journal
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { ReceiverEntry } from './journal.ts'

const RETRY_MS = 500
const [port, journal = ''] = process.argv.slice(2)
const note = (entry: ReceiverEntry) => appendFileSync(journal, `${JSON.stringify(entry)}\n`)

/** Results that have been called back, or are being. */
const called = new Set<string>()

async function callBack(id: string, { url, token }: { url: string; token: string }) {
  if (called.has(id)) return
  called.add(id)
  const attributes = { status: 'passed', message: `checked ${id}` }
  for (;;) {
    const response = await fetch(url, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
      body: JSON.stringify({ data: { type: 'task-results', attributes } }),
      signal: AbortSignal.timeout(5000),
    }).catch(() => undefined)
    const status = response?.status ?? 0
    if (status === 200 || (status >= 400 && status < 500 && status !== 429))
      return note({ kind: 'callback', id, status, message: attributes.message, at: Date.now() })
    await pause(RETRY_MS)
  }
}

if (existsSync(journal)) {
  const entries = readFileSync(journal, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as ReceiverEntry)
  for (const entry of entries) if (entry.kind === 'callback') called.add(entry.id)
  for (const entry of entries) if (entry.kind === 'request' && entry.callback) void callBack(entry.id, entry.callback)
  // A kill may have left half a line.
  appendFileSync(journal, '\n')
}

async function receive(request: IncomingMessage, response: ServerResponse) {
  const at = Date.now()
  const body = await text(request).catch(() => undefined)
  if (body === undefined) return
  const payload = JSON.parse(body)
  const { trigger, run_status: status } = payload.notifications?.[0] ?? {}
  if (payload.access_token === 'test-token' || trigger === 'verification') return void response.end()
  const id: string = payload.task_result_id ?? `${payload.run_id} ${trigger} ${status}`
  const callback = payload.task_result_id && { url: payload.task_result_callback_url, token: payload.access_token }
  note({ kind: 'request', id, run: payload.run_id, at, port: request.socket.remotePort ?? 0, callback })
  response.end()
  if (callback) void callBack(id, callback)
}

const server = createServer((request, response) => void receive(request, response))
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('the receiver is ready\n'))
