import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { AgentJob } from '@groundstate/contract/agent'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { createInitGate, openPluginCaches, markIncompleteDuring } from './plugin-caches.ts'
import { openRunDirectories } from './run-directory.ts'

const ended = (code: number | null) => async () => code

/** A cache with a provider of an init that ended with `code`, in use by another run of the organization. */
async function filledCache(code: number | null) {
  const caches = await openPluginCaches(await temporaryDirectory(), undefined)
  const cache = await caches.enter('org-acme')
  await caches.enter('org-acme')
  const provider = join(cache.path, 'provider')
  await markIncompleteDuring(cache, async () => {
    await mkdir(cache.path, { recursive: true })
    await writeFile(provider, 'half')
    return code
  })
  return { caches, provider }
}

test('the files of a killed init are removed once no run uses them', async () => {
  const { caches, provider } = await filledCache(null)

  caches.leave('org-acme')
  expect(existsSync(provider)).toBe(true)
  caches.leave('org-acme')
  await caches.enter('org-acme')

  expect(existsSync(provider)).toBe(false)
})

test('a successful init does not clear the mark of a killed one', async () => {
  const workDir = await temporaryDirectory()
  const caches = await openPluginCaches(workDir, undefined)
  const cache = await caches.enter('org-acme')
  const provider = join(cache.path, 'provider')
  await writeFile(provider, 'half')
  await markIncompleteDuring(cache, ended(null))

  await markIncompleteDuring(cache, ended(0))
  caches.leave('org-acme')

  expect(existsSync(provider)).toBe(false)
  expect((await readdir(join(workDir, 'plugins'))).filter((name) => name.includes('filling'))).toEqual([])
})

test.each([
  [0, ['run-1']],
  [null, []],
])('a restart after an init that ended with %j keeps the directories %j', async (code, expected) => {
  const workDir = await temporaryDirectory()
  const job = { id: 'job-1', runId: 'run-1', workspaceId: 'ws-1', organizationId: 'org-acme' } as AgentJob
  const caches = await openPluginCaches(workDir, undefined)
  const directories = await openRunDirectories(workDir, Infinity, { caches, users: undefined })
  const directory = await directories.create(job)
  await directories.keep(directory, job, '1.5.7')
  await markIncompleteDuring(directory.cache, ended(code))

  const reopened = { caches: await openPluginCaches(workDir, undefined), users: undefined }
  const { warmRunIds } = await openRunDirectories(workDir, Infinity, reopened)

  expect(warmRunIds()).toEqual(expected)
  expect(existsSync(directory.root)).toBe(code === 0)
})

test('the files of a completed init stay, even if it failed', async () => {
  const { caches, provider } = await filledCache(1)

  caches.leave('org-acme')
  caches.leave('org-acme')

  expect(existsSync(provider)).toBe(true)
})

const { signal } = new AbortController()

/** Passes a gate with inits that end with these codes, sequentially; returns which of them ran exclusively. */
async function passAll(codes: readonly (number | null)[]) {
  const gate = createInitGate()
  const alone: boolean[] = []
  for (const code of codes)
    await gate.pass('providers', signal, async (isAlone) => {
      alone.push(isAlone)
      return code
    })
  return alone
}

test('installed providers are not installed again, and the next init need not run exclusively', async () => {
  expect(await passAll([0, 0])).toEqual([true, false])
})

test('after a failed or killed init, the next one runs exclusively', async () => {
  expect(await passAll([1, null, 0, 0])).toEqual([true, true, true, false])
})

test('concurrent inits after a failed one run one after the other', async () => {
  const gate = createInitGate()
  let [atWork, most] = [0, 0]
  const init = async () => {
    most = Math.max(most, (atWork += 1))
    await delay(5)
    atWork -= 1
    return 1
  }

  await Promise.all([init, init, init].map((one) => gate.pass('providers', signal, one)))

  expect(most).toBe(1)
})
