import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import type { BootedServer } from './server.ts'
import { accessFaults, bootWebServer, DESK, openAdminPage, overflowOf, PHONE, watchFaults } from './web-page.ts'
import { button } from './workspace-page.ts'

let server: BootedServer
let page: Page
let faults: string[]

beforeAll(async () => {
  if (!hasBrowser) return
  server = await bootWebServer()
  page = await openAdminPage(server, '/app/main')
  faults = watchFaults(page)
})

/** Violations and overflow of the page as it is. */
async function layoutFaults(shown = page) {
  const found = await accessFaults(shown)
  await shown.setViewportSize(PHONE)
  if ((await overflowOf(shown)) > 0) found.push('it is wider than a phone')
  await shown.setViewportSize(DESK)
  return found
}

describe.skipIf(!hasBrowser)('identity keys', () => {
  test('a site administrator rotates them, and sees when the new key signs', async () => {
    await page.getByRole('link', { name: 'Administration' }).click()
    await page.getByRole('link', { name: 'Identity keys' }).click()
    const rows = page.getByRole('table', { name: 'Identity keys' }).getByRole('row')
    await page.getByText('served by this server').waitFor()
    const [before] = (await server.api('GET', '/admin/identity-keys')).data
    const single = await layoutFaults()

    await button(page, 'Rotate').click()
    await button(page, 'Rotate keys').click()
    await rows.nth(1).getByText('Next').waitFor()
    const texts = await rows.allTextContents()
    const reasons = [
      await button(page, 'Rotate').getAttribute('data-tooltip'),
      await button(page, 'Activate').getAttribute('data-tooltip'),
    ]
    const rotated = await layoutFaults()

    const keys = (await server.api('GET', '/admin/identity-keys')).data
    expect(keys.map(({ attributes }: { attributes: { state: string } }) => attributes.state)).toEqual([
      'next',
      'current',
    ])
    expect(texts[1]).toContain('signs tomorrow')
    expect(texts[2]).toContain(before.attributes['key-id'])
    expect(texts[2]).toContain('stops signing tomorrow')
    expect(reasons).toEqual([
      'a new key is published already and does not sign yet',
      'services may still cache the keys without it for some minutes',
    ])
    expect([...single, ...rotated]).toEqual([])
    expect(faults).toEqual([])
  })

  test('with an issuer elsewhere, a new key waits until its documents are published there', async () => {
    const external = await bootWebServer({ GROUNDSTATE_ISSUER_URL: 'https://issuer.example.com/groundstate' })
    const shown = await openAdminPage(external, '/app/admin/identity-keys')
    await shown.getByText('https://issuer.example.com/groundstate').waitFor()

    await button(shown, 'Rotate').click()
    await button(shown, 'Rotate keys').click()
    await shown.getByText('A new key waits.').waitFor()
    await shown.getByText('groundstate identity export').last().waitFor()
    const waiting = await layoutFaults(shown)
    await button(shown, 'Activate').click()
    await button(shown, 'Activate key').click()
    await shown.getByText('A new key waits.').waitFor({ state: 'detached' })

    const keys = (await external.api('GET', '/admin/identity-keys')).data
    expect(keys.map(({ attributes }: { attributes: { state: string } }) => attributes.state)).toEqual([
      'current',
      'previous',
    ])
    expect(waiting).toEqual([])
  })
})
