import { describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { bootWebServer, openAdminPage } from './web-page.ts'

describe.skipIf(!hasBrowser)('while another version answers for a file', async () => {
  if (!hasBrowser) return
  const server = await bootWebServer()
  const page = await openAdminPage(server, '/app/main/workspaces')
  const heading = page.getByRole('heading', { name: 'Workspaces', level: 1 })

  /** The next request for such a file gets 404. Resolves when it was made. */
  async function missOnce(name: string) {
    const missed = Promise.withResolvers<string>()
    await page.route(
      new RegExp(`/assets/${name}-[^/]+\\.js$`),
      async (route) => {
        missed.resolve(route.request().url())
        await route.fulfill({ status: 404 })
      },
      { times: 1 },
    )
    return missed.promise
  }

  test.each(['index', 'start', 'workspaces-page'])('a page without its file %s loads again', async (name) => {
    const missed = missOnce(name)

    // The reload may interrupt this navigation.
    await page.goto(`${server.url}/app/main/workspaces`, { waitUntil: 'commit' }).catch(() => {})
    await missed
    await heading.waitFor()

    expect(await heading.isVisible()).toBe(true)
  })

  test('a page without the file of a popup loads again', async () => {
    await heading.waitFor()
    const missed = missOnce('palette')
    const loaded = page.waitForEvent('load')

    await page.keyboard.press('Control+k')
    await missed
    await loaded
    await heading.waitFor()

    expect(await heading.isVisible()).toBe(true)
  })
})
