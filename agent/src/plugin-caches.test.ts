import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openPluginCaches, whileFilling } from './plugin-caches.ts'
import { temporaryFolder } from './testing/agent-fixture.ts'

/** A cache in which an init that ends with `code` has put a provider; another run of the organization uses it too. */
async function filledCache(code: number | null) {
  const caches = await openPluginCaches(await temporaryFolder(), undefined)
  const cache = await caches.enter('org-acme')
  await caches.enter('org-acme')
  const provider = join(cache.path, 'provider')
  await whileFilling(cache, async () => {
    await mkdir(cache.path, { recursive: true })
    await writeFile(provider, 'half')
    return code
  })
  return { caches, provider }
}

test('what an init has left that was killed goes once no run uses it any more', async () => {
  const { caches, provider } = await filledCache(null)

  caches.leave('org-acme')
  expect(existsSync(provider)).toBe(true)
  caches.leave('org-acme')
  await caches.enter('org-acme')

  expect(existsSync(provider)).toBe(false)
})

test('what an init has left that came to its end stays, also if it failed', async () => {
  const { caches, provider } = await filledCache(1)

  caches.leave('org-acme')
  caches.leave('org-acme')

  expect(existsSync(provider)).toBe(true)
})
