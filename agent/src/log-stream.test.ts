import { expect, test } from 'vitest'
import { openLogStream } from './log-stream.ts'

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
  const log = openLogStream({ append: server.append, limitBytes: 1_000 })

  await log.write('one\n')
  await log.write(Buffer.from('two\n'))
  await log.close()

  expect(server.text()).toBe('one\ntwo\n')
})

test('what gathers while a chunk is on its way goes out as one', async () => {
  const server = logServer()
  const log = openLogStream({ append: server.append, limitBytes: 1_000_000 })

  for (let line = 0; line < 1_000; line += 1) await log.write(`line ${line}\n`)
  server.release()
  await log.close()

  expect(server.sizes.length).toBeLessThanOrEqual(2)
  expect(server.text()).toContain('line 999\n')
})

test('marks in the output become spaces, so that they end nothing', async () => {
  const server = logServer()
  server.release()
  const log = openLogStream({ append: server.append, limitBytes: 1_000 })

  await log.write('a\x03b\x02c\x03')
  await log.close()

  expect(server.text()).toBe('a b c ')
})

test('output beyond the limit is dropped, and the log says so', async () => {
  const server = logServer()
  server.release()
  const log = openLogStream({ append: server.append, limitBytes: 5 })

  await log.write('123')
  await log.write('4567')
  await log.write('890')
  await log.close()

  expect(server.text().split('\n')).toEqual(['12345', expect.stringContaining('The log is cut off here'), ''])
})

test('the engine is held back while the server is far behind', async () => {
  const server = logServer()
  const log = openLogStream({ append: server.append, limitBytes: 1_000_000_000 })
  const block = Buffer.alloc(4 * 1024 * 1024, 'x')
  await log.write(block)
  await log.write(block)

  let held = true
  const writing = Promise.resolve(log.write(block)).then(() => (held = false))
  await Promise.resolve()
  const before = held
  server.release()
  await writing
  await log.close()

  expect(before).toBe(true)
  expect(server.text().length).toBe(3 * block.length)
})

test('a log that cannot be stored takes what is written, and fails when it is closed', async () => {
  const log = openLogStream({ append: () => Promise.reject(new Error('lease lost')), limitBytes: 1_000 })

  await log.write('one\n')
  await log.write('two\n')

  await expect(log.close()).rejects.toThrow('lease lost')
})
