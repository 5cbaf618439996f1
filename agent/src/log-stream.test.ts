import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openLogStream } from './log-stream.ts'
import { temporaryFolder } from './testing/agent-fixture.ts'

type Options = Omit<Parameters<typeof openLogStream>[0], 'file'>

/** A log on a file of its own, which ends with the test. */
async function openLog(options: Options) {
  const file = join(await temporaryFolder(), 'log')
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
