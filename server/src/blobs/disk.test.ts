import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { pidScope } from '@groundstate/agent/process/process-id'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createBlobs } from './blobs.ts'
import { describeBlobs } from './testing/driver-suite.ts'

const secret = randomBytes(32)

async function newRoot() {
  return mkdtemp(join(tmpdir(), 'groundstate-blobs-'))
}

async function files(directory: string) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

describeBlobs('disk', async (secret) => {
  const root = await newRoot()
  const blobs = await createBlobs({ secret, store: { kind: 'disk', root } })
  return {
    blobs,
    reopen: async (other, previousSecrets = []) =>
      createBlobs({ secret: other, previousSecrets, store: { kind: 'disk', root } }),
    async damage(key, change) {
      const name = key.replaceAll('/', '~')
      const path = (await files(join(root, 'objects'))).find((file) => file.endsWith(name)) ?? ''
      await writeFile(path, change(await readFile(path)))
    },
    leftovers: async () => {
      // Temporary files are removed in the background.
      await vi.waitUntil(async () => (await files(join(root, 'tmp'))).length === 0, { interval: 5 })
      return 0
    },
    async close() {
      await blobs[Symbol.asyncDispose]()
      await rm(root, { recursive: true })
    },
  }
})

test('acknowledged puts survive kill -9, and unfinished files are removed', async () => {
  const root = await newRoot()
  onTestFinished(() => rm(root, { recursive: true }))
  const config = { secret, store: { kind: 'disk' as const, root } }
  for (const round of [1, 2, 3]) {
    const args = [
      '--input-type=module',
      '-e',
      putForever,
      import.meta.resolve('./blobs.ts'),
      root,
      secret.toString('hex'),
    ]
    const child = spawn(process.execPath, [...args, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] })
    const acknowledged: string[] = []
    for await (const key of createInterface(child.stdout)) {
      acknowledged.push(key)
      if (acknowledged.length === 60 * round) child.kill('SIGKILL')
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')

    await using blobs = await createBlobs(config)
    expect(acknowledged.length).toBeGreaterThanOrEqual(60)
    for (const key of acknowledged) {
      const content = await blobs.read(key)
      expect(content.equals(Buffer.alloc(content.length, key))).toBe(true)
    }
    await blobs.settle(new Date(0), new AbortController().signal)
    expect(await files(join(root, 'tmp'))).toEqual([])
  }
})

/** Puts small and large blobs, eight at a time, and prints each key once its put has resolved. */
const putForever = `
  const [module, root, secret, round] = process.argv.slice(1)
  const { createBlobs } = await import(module)
  const blobs = await createBlobs({ secret: Buffer.from(secret, 'hex'), store: { kind: 'disk', root } })
  let n = 0
  for (let client = 0; client < 8; client++) void (async () => {
    for (;;) {
      const key = 'r' + round + '/' + n++
      await blobs.put(key, Buffer.alloc(n % 5 === 0 ? 600_000 : 2048, key), { compress: n % 2 === 0 })
      console.log(key)
    }
  })()
`

test('a blob is readable while it moves to its shard, and kill -9 during the move loses nothing', async () => {
  const root = await newRoot()
  onTestFinished(() => rm(root, { recursive: true }))
  const config = { secret, store: { kind: 'disk' as const, root } }
  await using blobs = await createBlobs(config)
  const keys = Array.from({ length: 600 }, (_, n) => `moved/${n}`)
  await Promise.all(keys.map((key) => blobs.put(key, Buffer.from(key))))
  const read = async () => (await Promise.all(keys.map((key) => blobs.read(key)))).map(String)
  const args = [
    '--input-type=module',
    '-e',
    settleOnce,
    import.meta.resolve('./blobs.ts'),
    root,
    secret.toString('hex'),
  ]

  for (const afterMs of [2, 8, 30, 100]) {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    const ended = once(child, 'exit')
    setTimeout(() => child.kill('SIGKILL'), afterMs)
    expect(await read()).toEqual(keys)
    await ended
    expect(await read()).toEqual(keys)
  }
  const signal = AbortSignal.timeout(60_000)
  await Promise.all([1, 2].map(() => blobs.settle(new Date(Date.now() + 60_000), signal)))

  expect(await read()).toEqual(keys)
  const stored = await files(join(root, 'objects'))
  expect(stored).toHaveLength(600)
  for (const path of stored) expect(path).toMatch(/objects\/[0-9a-f]\/~[0-9a-f]{2}\/moved~\d+$/)
}, 60_000)

/** Moves all blobs to their shards; prints when it begins. */
const settleOnce = `
  const [module, root, secret] = process.argv.slice(1)
  const { createBlobs } = await import(module)
  const blobs = await createBlobs({ secret: Buffer.from(secret, 'hex'), store: { kind: 'disk', root } })
  console.log('begins')
  await blobs.settle(new Date(Date.now() + 60_000), AbortSignal.timeout(60_000))
`

test('recent blobs are not moved', async () => {
  const root = await newRoot()
  onTestFinished(() => rm(root, { recursive: true }))
  await using blobs = await createBlobs({ secret, store: { kind: 'disk', root } })
  await blobs.put('young', Buffer.from('x'))

  const moved = await blobs.settle(new Date(Date.now() - 60_000), AbortSignal.timeout(60_000))

  expect(moved).toBe(0)
  expect((await files(join(root, 'objects')))[0]).toMatch(/objects\/[0-9a-f]\/young$/)
})

test('a put on a full disk rejects, and the process continues', async () => {
  const root = await newRoot()
  onTestFinished(() => rm(root, { recursive: true }))
  // Limits the size of a file, in blocks of 512 bytes. The system then rejects a write as a full disk does.
  const limited = ['-c', 'ulimit -f 64 && exec "$0" "$@"', process.execPath, '--input-type=module', '-e', putTooMuch]
  const child = spawn('sh', [...limited, import.meta.resolve('./blobs.ts'), root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })

  expect(await text(child.stdout)).toBe('EFBIG EFBIG kept\n')
  expect(await files(root)).toHaveLength(1)
})

/** Puts a buffer and a stream that do not fit, then content that does. */
const putTooMuch = `
  import { randomBytes } from 'node:crypto'
  const [module, root] = process.argv.slice(1)
  const { createBlobs } = await import(module)
  await using blobs = await createBlobs({ secret: randomBytes(32), store: { kind: 'disk', root } })
  const put = (key, content) => blobs.put(key, content).then(() => 'kept', (error) => error.code)
  const outcomes = [
    await put('buffer', randomBytes(100_000)),
    await put('stream', (async function* () { for (let n = 0; n < 40; n++) yield randomBytes(100_000) })()),
    await put('small', randomBytes(1000)),
  ]
  console.log(outcomes.join(' '))
`

test('unfinished files of dead processes are removed, not by opening the directory, and those of live ones are not', async () => {
  const root = await newRoot()
  onTestFinished(() => rm(root, { recursive: true }))
  const exited = spawn(process.execPath, ['-e', ''])
  await once(exited, 'exit')
  const place = async (name: string) => {
    await mkdir(join(root, 'tmp', name), { recursive: true })
    await writeFile(join(root, 'tmp', name, 'part'), 'x')
  }
  const [here, elsewhere] = [await pidScope(), 'f'.repeat(16)]
  await place(`${here}.${exited.pid}.aa`)
  await place(`${here}.${process.pid}.bb`)
  await place(`${here}.${process.ppid}.cc`)
  // In another container, the same id may belong to a live process.
  await place(`${elsewhere}.${exited.pid}.dd`)
  await place(`${elsewhere}.1.ee`)
  await utimes(join(root, 'tmp', `${elsewhere}.1.ee`), 0, 0)

  await using blobs = await createBlobs({ secret, store: { kind: 'disk', root } })
  await using second = await createBlobs({ secret, store: { kind: 'disk', root } })

  expect(await files(join(root, 'tmp'))).toHaveLength(5)
  await blobs.settle(new Date(0), new AbortController().signal)
  const kept = (await files(join(root, 'tmp'))).map((file) => file.slice(root.length + 5))
  expect(kept.sort()).toEqual([`${here}.${process.ppid}.cc/part`, `${elsewhere}.${exited.pid}.dd/part`].sort())
  await blobs.put('first', Buffer.from('1'))
  await second.put('second', Buffer.from('2'))
  expect((await second.read('first')).toString()).toBe('1')
})

test('a quiet server of the previous release keeps its directory of unfinished files, which it creates only once', async () => {
  const root = await newRoot()
  onTestFinished(() => rm(root, { recursive: true }))
  const place = async (name: string, hours: number) => {
    const path = join(root, 'tmp', name)
    await mkdir(path, { recursive: true })
    const seconds = Date.now() / 1000 - hours * 3600
    await utimes(path, seconds, seconds)
  }
  // A release that names directories after the host; in a container its name looks like a short scope.
  for (const name of ['host-1.7.0123456789ab', 'f0123456789a.7.0123456789ab']) await place(name, 6 * 24)
  for (const name of ['gone-1.7.0123456789ab', 'e0123456789a.7.0123456789ab']) await place(name, 8 * 24)
  await place(`${'f'.repeat(16)}.7.0123456789ab`, 2)
  await using blobs = await createBlobs({ secret, store: { kind: 'disk', root } })

  await blobs.settle(new Date(0), new AbortController().signal)

  const kept = (await readdir(join(root, 'tmp'))).filter((name) => name.includes('.7.'))
  expect(kept.sort()).toEqual(['f0123456789a.7.0123456789ab', 'host-1.7.0123456789ab'])
})

test('a put succeeds although another host has removed the directory of unfinished files', async () => {
  const root = await newRoot()
  onTestFinished(() => rm(root, { recursive: true }))
  await using blobs = await createBlobs({ secret, store: { kind: 'disk', root } })
  await rm(join(root, 'tmp'), { recursive: true })

  await Promise.all(['first', 'second'].map((key) => blobs.put(key, Buffer.from(key))))

  expect(String(await blobs.read('second'))).toBe('second')
})

test('only the owner may read the files', async () => {
  const root = await newRoot()
  onTestFinished(() => rm(root, { recursive: true }))
  await using blobs = await createBlobs({ secret, store: { kind: 'disk', root } })

  await blobs.put('private', Buffer.from('x'))

  const [file = ''] = await files(join(root, 'objects'))
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await stat(join(root, 'objects'))).mode & 0o777).toBe(0o700)
  expect((await stat(root)).mode & 0o777).toBe(0o700)
})

test('a 50 MB upload needs little memory and leaves the event loop free', async () => {
  const root = await newRoot()
  onTestFinished(() => rm(root, { recursive: true }))
  await using blobs = await createBlobs({ secret, store: { kind: 'disk', root } })
  const block = randomBytes(64 * 1024)
  const source = async function* () {
    for (let n = 0; n < 800; n++) yield block
  }
  const before = process.memoryUsage().arrayBuffers
  let peak = 0
  let turns = 0
  const watch = setInterval(() => {
    turns++
    peak = Math.max(peak, process.memoryUsage().arrayBuffers)
  }, 5)

  await blobs.put('big', source())
  clearInterval(watch)

  expect(turns).toBeGreaterThan(5)
  expect(peak - before).toBeLessThan(100 * 1024 * 1024)
})
