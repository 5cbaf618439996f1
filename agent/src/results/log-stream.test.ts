import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { RequestRejectedError } from '../server/connection.ts'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { openLogStream } from './log-stream.ts'

type Options = Omit<Parameters<typeof openLogStream>[0], 'file'>

/** A log on a new file with optional content; it ends with the test. */
async function openLog({ holds, ...options }: Options & { holds?: string }) {
  const file = join(await temporaryDirectory(), 'log')
  if (holds !== undefined) await writeFile(file, holds)
  const log = openLogStream({ ...options, file })
  onTestFinished(() => log[Symbol.dispose]())
  return { ...log, file }
}

/** A server that keeps what it is sent; the first append waits for `release`. */
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

test('a log is what was written, in its order, and no mark around it: the server sets those', async () => {
  const server = logServer()
  server.release()
  const log = await openLog({ append: server.append, limitBytes: 1_000 })

  log.write('one\n')
  log.write(Buffer.from('two\n'))
  await log.close()

  expect(server.text()).toBe('one\ntwo\n')
})

test('what gathers while a chunk is on its way goes out as one', async () => {
  const server = logServer()
  const log = await openLog({ append: server.append, limitBytes: 1_000_000 })

  for (let line = 0; line < 1_000; line += 1) log.write(`line ${line}\n`)
  server.release()
  await log.close()

  expect(server.sizes.length).toBeLessThanOrEqual(2)
  expect(server.text()).toContain('line 999\n')
})

test('marks in the output become spaces, so that they end nothing', async () => {
  const server = logServer()
  server.release()
  const log = await openLog({ append: server.append, limitBytes: 1_000 })

  log.write('a\x03b\x02c\x03')
  await log.close()

  expect(server.text()).toBe('a b c ')
})

test('output beyond the limit is dropped, and the log says so', async () => {
  const server = logServer()
  server.release()
  const log = await openLog({ append: server.append, limitBytes: 5 })

  log.write('123')
  log.write('4567')
  log.write('890')
  await log.close()

  expect(server.text().split('\n')).toEqual(['12345', expect.stringContaining('The log is cut off here'), ''])
})

test('what a server does not take for long is kept in the file, and holds nothing back', async () => {
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

test('a log that cannot be stored takes what is written, and fails when it is closed', async () => {
  const log = await openLog({ append: () => Promise.reject(new Error('lease lost')), limitBytes: 1_000 })

  log.write('one\n')
  log.write('two\n')

  await expect(log.close()).rejects.toThrow('lease lost')
})

/** As `logServer`, behind a proxy that answers with a status to what it does not let through. */
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

test('chunks that are too large for a proxy go out in smaller ones', async () => {
  const server = proxiedServer((bytes) => (bytes.length > 10_000 ? 413 : undefined))
  const log = await openLog({ append: server.append, limitBytes: 1_000_000 })
  const text = Array.from({ length: 10_000 }, (_, line) => `line ${line}\n`).join('')

  log.write(text)

  expect(await log.close()).toBeUndefined()
  expect(server.text()).toBe(text)
})

test('what is refused for good is left out, the log says so, and the rest arrives at its place', async () => {
  const server = proxiedServer((bytes) => (bytes.includes('select * from') ? 403 : undefined))
  const log = await openLog({ append: server.append, limitBytes: 1_000_000, retryTimeoutMs: 1 })
  const before = 'before\n'.repeat(2_000)
  const after = 'after\n'.repeat(2_000)

  log.write(`${before}select * from secrets\n${after}`)

  expect(await log.close()).toBeUndefined()
  expect(server.text()).toMatch(
    /^(before\n)+[^]*\nA part of the log is missing here: [^\n]+ answers 403 to it\.\n[^]*after\n$/,
  )
  expect(server.text().length).toBe(before.length + 'select * from secrets\n'.length + after.length)
})

test('a refusal that passes leaves nothing out', async () => {
  let refusals = 3
  const server = proxiedServer(() => ((refusals -= 1) >= 0 ? 404 : undefined))
  const log = await openLog({ append: server.append, limitBytes: 1_000 })

  log.write('one\n')

  expect(await log.close()).toBeUndefined()
  expect(server.text()).toBe('one\n')
})

test('a log of which nothing is taken is closed all the same, with what there is to say', async () => {
  const server = proxiedServer(() => 400)
  const log = await openLog({ append: server.append, limitBytes: 1_000, retryTimeoutMs: 1 })

  log.write('one\n')

  expect(await log.close()).toMatch(/^The log is not complete: .* answers 400/)
})

test('what the database of the server has lost is sent again', async () => {
  const server = proxiedServer(() => undefined)
  const log = await openLog({ append: server.append, limitBytes: 1_000 })
  log.write('one\ntwo\n')
  await expect.poll(() => server.text()).toBe('one\ntwo\n')

  server.forget(4)
  log.write('three\n')

  expect(await log.close()).toBeUndefined()
  expect(server.text()).toBe('one\ntwo\nthree\n')
})

test('a file that has less than the server, after a loss of power, is no failure', async () => {
  const server = proxiedServer(() => undefined)
  const log = await openLog({ append: server.append, limitBytes: Infinity, sent: 1_000, holds: 'one\n' })

  expect(await log.close()).toBeUndefined()
  expect(server.text()).toBe('')
})

test('a file that is there already is sent from where the server has it', async () => {
  const server = proxiedServer(() => undefined)
  await server.append(0, Buffer.from('one\n'))
  const log = await openLog({ append: server.append, limitBytes: Infinity, sent: 4, holds: 'one\ntwo\n' })

  await log.close()

  expect(server.text()).toBe('one\ntwo\n')
})
