import { describe, expect, test } from 'vitest'
import { freePort } from '../server/src/testing/ports.ts'
import { hasBrowser, openPage } from './browser.ts'
import { startPathProxy } from './path-proxy.ts'
import { bootServer } from './server.ts'

const PATH = '/tools/groundstate'

describe.runIf(hasBrowser)('below a path of a host that others share', () => {
  test.each([
    ['leaves the path in requests', false],
    ['takes the path off requests', true],
  ])('people sign in, follow links and load a page again behind a proxy that %s', async (_, strips) => {
    const port = await freePort()
    const url = await startPathProxy({ path: PATH, port, strips })
    const { adminPassword } = await bootServer({ GROUNDSTATE_BASE_URL: url, GROUNDSTATE_AGENTS: '0' }, { port })
    const page = await openPage()
    const strays: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => {
      const { protocol, pathname } = new URL(request.url())
      if (protocol === 'http:' && !`${pathname}/`.startsWith(`${PATH}/`)) strays.push(pathname)
    })
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })

    await page.goto(`${url}/app/settings/tokens`)
    await page.getByLabel('Username or email').fill('admin')
    await page.getByLabel('Password').fill(adminPassword())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${url}/app/settings/tokens`)
    await page.goto(url)
    await page.waitForURL(`${url}/app/main`)
    await page.reload()
    await page.getByRole('link', { name: 'Workspaces' }).first().click()
    await page.waitForURL(`${url}/app/main/workspaces`)
    await page.getByRole('link', { name: 'Documentation' }).first().click()
    await page.waitForURL(`${url}/docs`)
    await page.getByRole('link', { name: 'API reference' }).first().click()
    await page.waitForURL(`${url}/docs/api`)
    await page.getByRole('link', { name: 'Show your account' }).waitFor()
    await page.goto(`${url}/docs/web`)
    await page.getByRole('img').first().waitFor()
    await page.getByRole('link', { name: 'Back to application' }).click()
    await page.waitForURL(`${url}/app/main/workspaces`)
    await page.getByRole('link', { name: 'Workspaces' }).first().waitFor()
    const [cookie] = await page.context().cookies(url)

    expect(strays).toEqual([])
    expect(complaints).toEqual([])
    expect(cookie?.path).toBe(PATH)
  })
})
