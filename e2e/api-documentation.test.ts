import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, openPage } from './browser.ts'
import { type BootedServer, bootServer } from './server.ts'

let server: BootedServer
let page: Page
beforeAll(async () => {
  if (!hasBrowser) return
  server = await bootServer()
  page = await openPage()
})

describe.runIf(hasBrowser)('the documentation of the API in a browser', () => {
  test('is searchable and requests nothing from other hosts', async () => {
    const elsewhere: string[] = []
    const refused: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url) && !/^(?:data|blob):/.test(request.url())) elsewhere.push(request.url())
    })
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) refused.push(message.text())
    })

    await page.goto(`${server.url}/docs/api`)
    await page.getByRole('heading', { name: 'Groundstate' }).waitFor({ timeout: 60_000 })
    await page.keyboard.press('Control+k')
    await page.keyboard.type('actions/force-unlock')
    const path = '/api/v2/workspaces/{id}/actions/force-unlock'
    await page.getByRole('dialog').getByText(path).click()
    await expect.poll(() => decodeURIComponent(page.url()), { timeout: 30_000 }).toContain(path)

    expect(elsewhere).toEqual([])
    expect(refused).toEqual([])
  })

  test('has the icon that browsers request for a page without a link to one', async () => {
    const icon = await fetch(`${server.url}/favicon.ico`)

    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/vnd.microsoft.icon'])
  })
})
