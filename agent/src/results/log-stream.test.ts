import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { RequestRejectedError } from '../server/connection.ts'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { openLogStream } from './log-stream.ts'

type Options = Omit<Parameters<typeof openLogStream>[0], 'file'>

/** A log in a new file with optional content, disposed with the test. */
async function openLog({ holds, ...options }: Options & { holds?: string }) {
  const file = join(await temporaryDirectory(), 'log')
  if (holds !== undefined) await writeFile(file, holds)
  const log = openLogStream({ ...options, file })
  onTestFinished(() => log[Symbol.dispose]())
  return { ...log, file }
}

/** A server that stores chunks; the first append waits for `release`. */
function logServer() {
  let stored = Buffer.alloc(0)
  const sizes: number[] = []
  const first = Promise.withResolvers<void>()
  return {
    text: () => stored.toString(),
    sizes,
    release: first.resolve,
    append: async (offset: number, bytes: Buffer) => {
      if (sizes.length === 0) await first.promise
      expect(offset).toBe(stored.length)
      sizes.push(bytes.length)
      stored = Buffer.concat([stored, bytes])
      return stored.length
    },
  }
}

test('a log contains the output in order, without the marks that the server adds', async () => {
  const server = logServer()
  server.release()
  const log = await openLog({ append: server.append, limitBytes: 1_000 })

  log.write('one\n')
  log.write(Buffer.from('two\n'))
  await log.close()

  expect(server.text()).toBe('one\ntwo\n')
})

test('output that accumulates during a request is sent as one chunk', async () => {
  const server = logServer()
  const log = await openLog({ append: server.append, limitBytes: 1_000_000 })

  for (let line = 0; line < 1_000; line += 1) log.write(`line ${line}\n`)
  server.release()
  await log.close()

  expect(server.sizes.length).toBeLessThanOrEqual(2)
  expect(server.text()).toContain('line 999\n')
})

test('marks in the output become spaces', async () => {
  const server = logServer()
  server.release()
  const log = await openLog({ append: server.append, limitBytes: 1_000 })

  log.write('a\x03b\x02c\x03')
  await log.close()

  expect(server.text()).toBe('a b c ')
})

test('output beyond the limit is dropped with a note in the log', async () => {
  const server = logServer()
  server.release()
  const log = await openLog({ append: server.append, limitBytes: 5 })

  log.write('123')
  log.write('4567')
  log.write('890')
  await log.close()

  expect(server.text().split('\n')).toEqual(['12345', expect.stringContaining('The log is cut off here'), ''])
})

test('output for a blocked server is kept in the file, without back-pressure', async () => {
  const server = logServer()
  const log = await openLog({ append: server.append, limitBytes: 1_000_000_000 })
  const block = Buffer.alloc(4 * 1024 * 1024, 'x')

  for (let count = 0; count < 5; count += 1) log.write(block)
  const kept = await readFile(log.file)
  server.release()
  await log.close()

  expect(kept.length).toBe(5 * block.length)
  expect(server.text().length).toBe(5 * block.length)
})

test('a log that cannot be stored accepts output, and fails when it is closed', async () => {
  const log = await openLog({ append: () => Promise.reject(new Error('lease lost')), limitBytes: 1_000 })

  log.write('one\n')
  log.write('two\n')

  await expect(log.close()).rejects.toThrow('lease lost')
})

/** As `logServer`, behind a proxy that rejects some chunks with a status. */
function proxiedServer(status: (bytes: Buffer) => number | undefined) {
  let stored = Buffer.alloc(0)
  return {
    text: () => stored.toString(),
    forget: (bytes: number) => void (stored = stored.subarray(0, stored.length - bytes)),
    append: async (offset: number, bytes: Buffer) => {
      const refusal = offset > stored.length ? 416 : status(bytes)
      if (refusal !== undefined) throw new RequestRejectedError('PUT /log', refusal)
      stored = Buffer.concat([stored, bytes.subarray(stored.length - offset)])
      return stored.length
    },
  }
}

test('chunks that are too large for a proxy are split', async () => {
  const server = proxiedServer((bytes) => (bytes.length > 10_000 ? 413 : undefined))
  const log = await openLog({ append: server.append, limitBytes: 1_000_000 })
  const text = Array.from({ length: 10_000 }, (_, line) => `line ${line}\n`).join('')

  log.write(text)

  expect(await log.close()).toBeUndefined()
  expect(server.text()).toBe(text)
})

test('a chunk that stays rejected is replaced by a note of the same length', async () => {
  const server = proxiedServer((bytes) => (bytes.includes('select * from') ? 403 : undefined))
  const log = await openLog({ append: server.append, limitBytes: 1_000_000, retryTimeoutMs: 1 })
  const before = 'before\n'.repeat(2_000)
  const after = 'after\n'.repeat(2_000)

  log.write(`${before}select * from secrets\n${after}`)

  expect(await log.close()).toBeUndefined()
  expect(server.text()).toMatch(
    /^(before\n)+[^]*\nPart of the log is missing here: [^\n]+ rejected it with status 403\.\n[^]*after\n$/,
  )
  expect(server.text().length).toBe(before.length + 'select * from secrets\n'.length + after.length)
})

test('a chunk that is rejected temporarily is sent again', async () => {
  let refusals = 3
  const server = proxiedServer(() => ((refusals -= 1) >= 0 ? 404 : undefined))
  const log = await openLog({ append: server.append, limitBytes: 1_000 })

  log.write('one\n')

  expect(await log.close()).toBeUndefined()
  expect(server.text()).toBe('one\n')
})

test('a log that is rejected completely closes with a message', async () => {
  const server = proxiedServer(() => 400)
  const log = await openLog({ append: server.append, limitBytes: 1_000, retryTimeoutMs: 1 })

  log.write('one\n')

  expect(await log.close()).toMatch(/^The log is incomplete: .* with status 400/)
})

test('bytes that the database of the server has lost are sent again', async () => {
  const server = proxiedServer(() => undefined)
  const log = await openLog({ append: server.append, limitBytes: 1_000 })
  log.write('one\ntwo\n')
  await expect.poll(() => server.text()).toBe('one\ntwo\n')

  server.forget(4)
  log.write('three\n')

  expect(await log.close()).toBeUndefined()
  expect(server.text()).toBe('one\ntwo\nthree\n')
})

test('a file that is shorter than the log of the server, after a power failure, is accepted', async () => {
  const server = proxiedServer(() => undefined)
  const log = await openLog({ append: server.append, limitBytes: Infinity, sent: 1_000, holds: 'one\n' })

  expect(await log.close()).toBeUndefined()
  expect(server.text()).toBe('')
})

test('an existing file is sent from the offset of the server', async () => {
  const server = proxiedServer(() => undefined)
  await server.append(0, Buffer.from('one\n'))
  const log = await openLog({ append: server.append, limitBytes: Infinity, sent: 4, holds: 'one\ntwo\n' })

  await log.close()

  expect(server.text()).toBe('one\ntwo\n')
})
