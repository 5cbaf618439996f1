import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pidScope } from '@groundstate/agent/process/process-id'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { isLeased, takeLease } from './file-lease.ts'
import { StartError } from './start-error.ts'

const busy = (owner: string) => new StartError(`busy: ${owner}`)

let directory: string
let path: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'groundstate-lease-'))
  onTestFinished(async () => rm(directory, { recursive: true, force: true }))
  path = join(directory, 'lease')
})

test('a lease is exclusive until its process releases it, also within one process', async () => {
  const first = await takeLease(path, busy)

  await expect(takeLease(path, busy)).rejects.toThrow(`busy: process ${process.pid} of ${hostname()}`)
  expect([await isLeased(path), await first.isHeld()]).toEqual([true, true])
  await first[Symbol.asyncDispose]()
  expect([await isLeased(path), await readdir(directory)]).toEqual([false, []])
})

test('files by which killed processes asked for the time are removed after a day, and others are kept', async () => {
  for (const name of ['.time-old', '.time-recent', 'other']) await writeFile(join(directory, name), '')
  for (const name of ['.time-old', 'other']) await utimes(join(directory, name), 0, 0)

  await using _ = await takeLease(path, busy)

  expect((await readdir(directory)).toSorted()).toEqual(['.time-recent', 'lease', 'other'])
})

test('checks of a lease that overlap keep it', async () => {
  await using lease = await takeLease(path, busy)
  const text = await readFile(path, 'utf8')

  const held = await Promise.all(Array.from({ length: 50 }, async () => lease.isHeld()))

  expect(new Set(held)).toEqual(new Set([true]))
  expect([await readFile(path, 'utf8'), await isLeased(path)]).toEqual([text, true])
})

test.each([-3_600_000, 3_600_000])(
  'a clock that differs by %i ms neither ends a lease nor prolongs it',
  async (shift) => {
    await using lease = await takeLease(path, busy)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + shift })
    onTestFinished(() => void vi.useRealTimers())

    await expect(takeLease(path, busy)).rejects.toThrow('busy')
    expect([await isLeased(path), await lease.isHeld()]).toEqual([true, true])
    await utimes(path, 0, 0)
    expect(await isLeased(path)).toBe(false)
  },
)

test('a lease of a dead process is taken over at once only where its process id is valid', async () => {
  const ended = spawn(process.execPath, ['-e', ''])
  await once(ended, 'exit')
  const place = async (scope: string) => writeFile(path, `${hostname()} ${ended.pid} ${scope} x\n`)

  await place('another-namespace')
  await expect(takeLease(path, busy)).rejects.toThrow(`busy: process ${ended.pid} of ${hostname()}`)
  await place(await pidScope())
  await using lease = await takeLease(path, busy)
  expect(await lease.isHeld()).toBe(true)
})

test('one process at a time takes over a stale lease, and a claim of a killed one does not prevent it', async () => {
  const stale = 'other-host 5 other-scope x\n'
  await writeFile(path, stale)
  await utimes(path, 0, 0)
  const claim = `${path}.claim`
  await writeFile(claim, 'third-host 7 third-scope y\n')

  await expect(takeLease(path, busy)).rejects.toThrow('busy: process 7 of third-host')
  expect(await readFile(path, 'utf8')).toBe(stale)
  await utimes(claim, 0, 0)
  await using lease = await takeLease(path, busy)

  expect([await lease.isHeld(), await readdir(directory)]).toEqual([true, ['lease']])
})

test('a process whose lease was taken over meanwhile has lost it', async () => {
  const first = await takeLease(path, busy)
  await utimes(path, 0, 0)
  const second = await takeLease(path, busy)
  expect([await first.isHeld(), await second.isHeld()]).toEqual([false, true])
  await first[Symbol.asyncDispose]()
  expect(await isLeased(path)).toBe(true)
  await second[Symbol.asyncDispose]()
})
