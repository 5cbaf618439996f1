import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { createBlobs } from '../blobs/blobs.ts'
import { heldDirectory, holdDeletions } from '../blobs/hold.ts'
import { atEnd } from '../testing/cleanup.ts'
import { copyBlobs, measureBlobs } from './blobs.ts'
import { readSums } from './checksums.ts'

const secret = randomBytes(32)
const watch = { add() {}, signal: new AbortController().signal }
const HOUR_MS = 3_600_000
const KEYS = ['logs/plan-aaaaaaaaaaaaaaaa/0', 'state-versions/sv-aaaaaaaaaaaaaaaa/raw', 'state-versions/sv-b/raw']

let directory: string
let root: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'backup-blobs-'))
  root = join(directory, 'blobs')
})
atEnd(async () => rm(directory, { recursive: true, force: true }))

async function openBlobs() {
  const blobs = await createBlobs({ secret, store: { kind: 'disk', root } })
  await writeFile(join(root, 'store-id'), 'id signature\n')
  for (const key of KEYS) await blobs.put(key, Buffer.from(key))
  return blobs
}

async function copyTo(name: string, previous?: string) {
  const target = join(directory, name)
  await mkdir(target)
  const { added } = await copyBlobs({ root, previous }, target, watch)
  return { target, added }
}

/** Opens the blobs of a backup as a server would after a restore. */
async function contentOf(target: string) {
  await using blobs = await createBlobs({ secret, store: { kind: 'disk', root: join(target, 'blobs') } })
  const found: string[] = []
  for await (const { keys } of blobs.list('')) for (const key of keys) found.push(String(await blobs.read(key)))
  return found.toSorted()
}

test('blobs deleted while a backup holds them are in it, and are deleted afterwards', async () => {
  await using blobs = await openBlobs()
  await blobs.settle(new Date(Date.now() + HOUR_MS), watch.signal)
  await blobs.put('logs/plan-c/0', Buffer.from('logs/plan-c/0'))

  const hold = await holdDeletions(root)
  await blobs.delete('logs/plan-c/0')
  await blobs.delete(KEYS[1] ?? '')
  const isReadable = await blobs.stat('logs/plan-c/0')
  const { target, added } = await copyTo('first')
  await blobs.settle(new Date(Date.now() + HOUR_MS), watch.signal)
  const kept = await readdir(heldDirectory(root))
  const isComplete = await hold.isHeld()
  await hold[Symbol.asyncDispose]()

  expect([isReadable, added, kept.length, isComplete]).toEqual([undefined, 4, 2, true])
  expect(await contentOf(target)).toEqual([...KEYS, 'logs/plan-c/0'].toSorted())
  expect(await readdir(heldDirectory(root))).toEqual([])
})

test('without a hold, or after an abandoned one, blobs are deleted at once', async () => {
  await using blobs = await openBlobs()
  await blobs.delete(KEYS[0] ?? '')
  const file = join(root, 'backup-hold')
  await writeFile(file, 'elsewhere 1 x\n')
  await blobs.delete(KEYS[1] ?? '')
  const held = await readdir(heldDirectory(root))

  await utimes(file, 0, 0)
  await blobs.delete(KEYS[2] ?? '')
  await blobs.settle(new Date(0), watch.signal)

  expect([held.length, await readdir(heldDirectory(root))]).toEqual([1, []])
})

test('a second backup at the same time is refused, and an abandoned hold is taken over', async () => {
  await using _ = await openBlobs()
  const file = join(root, 'backup-hold')
  await writeFile(file, 'elsewhere 1 x\n')

  await expect(holdDeletions(root)).rejects.toThrow('another backup of these blobs is running (process 1 of elsewhere)')
  await utimes(file, 0, 0)
  await using hold = await holdDeletions(root)
  expect(await hold.isHeld()).toBe(true)
})

test('a later backup copies only new blobs and those that changed', async () => {
  await using blobs = await openBlobs()
  const { target: first } = await copyTo('first')
  await blobs.put('logs/plan-d/0', Buffer.from('logs/plan-d/0'))
  await blobs.delete(KEYS[0] ?? '')
  await blobs.put(KEYS[0] ?? '', Buffer.from('sealed with another secret'))

  const size = await measureBlobs({ root, previous: first }, watch)
  const { target, added } = await copyTo('second', first)

  const listed: string[] = []
  for await (const { path } of readSums(join(target, 'blobs.sha256'))) listed.push(path)
  expect([added, size > 0, listed.length]).toEqual([2, true, 5])
  expect(await contentOf(target)).toEqual(['logs/plan-d/0', 'sealed with another secret', KEYS[1], KEYS[2]])
})
