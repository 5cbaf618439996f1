import { describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { bootWebServer, openAdminPage } from './web-page.ts'

describe.skipIf(!hasBrowser)('while another version answers for a file', async () => {
  if (!hasBrowser) return
  const server = await bootWebServer()
  const page = await openAdminPage(server, '/app/main/workspaces')
  const heading = page.getByRole('heading', { name: 'Workspaces', level: 1 })

  /** The next request for such a file gets 404. */
  async function missOnce(file: RegExp) {
    await page.route(file, async (route) => route.fulfill({ status: 404 }), { times: 1 })
  }

  test.each(['index', 'start', 'workspaces-page'])('a page without its file %s loads again', async (name) => {
    const file = new RegExp(`/assets/${name}-[^/]+\\.js$`)
    await missOnce(file)
    const found = page.waitForResponse((response) => file.test(response.url()) && response.ok())

    // The reload may interrupt this navigation.
    await page.goto(`${server.url}/app/main/workspaces`, { waitUntil: 'commit' }).catch(() => {})
    await found

    await expect.poll(async () => heading.isVisible(), { timeout: 30_000 }).toBe(true)
  })

  test('a page without the file of a popup loads again', async () => {
    await heading.waitFor()
    await missOnce(/\/assets\/palette-[^/]+\.js$/)
    const loaded = page.waitForEvent('load')

    await page.keyboard.press('Control+k')
    await loaded

    await expect.poll(async () => heading.isVisible(), { timeout: 30_000 }).toBe(true)
  })
})
