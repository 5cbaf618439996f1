import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLineLog } from './line-log.ts'
import { temporaryFolder } from './testing/agent-fixture.ts'
import { openWarmFolders, type WarmLimits } from './warm-folders.ts'

const log = createLineLog({ level: 'error', json: false })

async function open(limits: Partial<WarmLimits> = {}) {
  const workDir = await temporaryFolder()
  const folders = await openWarmFolders(workDir, log, { count: 10, bytes: 1_000, ageMs: 60_000, ...limits })
  if (folders === undefined) throw new Error('there are none')
  const put = async (key: string, { bytes = 1, scope = 's' } = {}) =>
    folders.put(key, scope, async (folder) => {
      await writeFile(join(folder, 'file'), key)
      return bytes
    })
  const has = async (key: string) => folders.take(key, async () => {})
  const stored = async () => readdir(join(workDir, 'warm'))
  const putOf = async (key: string, fill: (folder: string) => Promise<number>) => folders.put(key, 's', fill)
  return { ...folders, put, putOf, has, stored }
}

test('what was not used for longest goes when there is too much, by number and by size', async () => {
  const few = await open({ count: 2 })
  const small = await open({ bytes: 100 })

  for (const key of ['a', 'b']) await few.put(key)
  await few.has('a')
  await few.put('c')
  for (const key of ['a', 'b', 'c']) await small.put(key, { bytes: 50 })

  expect([await few.has('a'), await few.has('b'), await few.has('c')]).toEqual([true, false, true])
  expect([await small.has('a'), await small.has('b'), await small.has('c')]).toEqual([false, true, true])
  expect(await few.stored()).toHaveLength(2)
})

test('what is too large for all of it is not kept', async () => {
  const folders = await open({ bytes: 100 })

  await folders.put('a', { bytes: 101 })

  expect(await folders.has('a')).toBe(false)
  expect(await folders.stored()).toEqual([])
})

test('what nobody takes for long goes with the next sweep', async () => {
  const folders = await open({ ageMs: -1 })
  await folders.put('a')

  await folders.sweep()

  expect(await folders.stored()).toEqual([])
})

test('an entry of no use goes', async () => {
  const folders = await open()
  await folders.put('a')

  const taken = await folders.take('a', async () => {
    throw new Error('broken')
  })

  expect([taken, await folders.has('a')]).toEqual([false, false])
  expect(await folders.stored()).toEqual([])
})

test('an entry that could not be made leaves nothing', async () => {
  const folders = await open()

  await folders.putOf('a', async (folder) => {
    await writeFile(join(folder, 'half'), '')
    throw new Error('the disk is full')
  })

  expect(await folders.has('a')).toBe(false)
  expect(await folders.stored()).toEqual([])
})

test('the entries of a scope go together', async () => {
  const folders = await open()
  await folders.put('a', { scope: 'one' })
  await folders.put('b', { scope: 'one' })
  await folders.put('c', { scope: 'other' })

  await folders.dropScope('one')

  expect([await folders.has('a'), await folders.has('b'), await folders.has('c')]).toEqual([false, false, true])
})

test('a later entry takes the place of an earlier one that is being read, which does not take it along', async () => {
  const folders = await open()
  await folders.put('a')

  await folders.take('a', async () => {
    await folders.put('a')
    throw new Error('gone meanwhile')
  })

  expect(await folders.has('a')).toBe(true)
  expect(await folders.stored()).toHaveLength(1)
})

test('names of other facts are others, and of another agent too', async () => {
  const [one, other] = [await open(), await open()]

  const names = [one.key('a', 'b'), one.key('ab'), one.key(['a', 'b']), other.key('a', 'b')]

  expect(new Set(names).size).toBe(4)
  expect(one.key('a', 'b')).toBe(names[0])
})

test('an agent begins with none', async () => {
  const workDir = await temporaryFolder()
  await mkdir(join(workDir, 'warm/1'), { recursive: true })

  await openWarmFolders(workDir, log)
  const left = await readdir(join(workDir, 'warm'))
  await openWarmFolders(workDir, log, false)

  expect(left).toEqual([])
  expect(existsSync(join(workDir, 'warm'))).toBe(false)
})
