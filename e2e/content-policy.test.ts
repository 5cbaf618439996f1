import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, openPage } from './browser.ts'
import { type BootedServer, bootServer } from './server.ts'

let server: BootedServer
beforeAll(async () => {
  if (hasBrowser) server = await bootServer({ GROUNDSTATE_AGENTS: '0' })
})

describe.runIf(hasBrowser)('the content security policy', () => {
  test('allows the styles of the editor', async () => {
    await server.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name: 'shop' } },
    })
    const page = await openPage()
    const complaints: string[] = []
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })

    await page.goto(`${server.url}/app/main/workspaces/shop/variables`)
    await page.getByLabel('Username or email').fill('admin')
    await page.getByLabel('Password').fill(server.adminPassword())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Add variable' }).click()
    await page.getByRole('form', { name: 'New variable' }).getByLabel('HCL').check()
    await page.locator('.cm-content').first().waitFor()
    const gutters = await page.evaluate<string>("getComputedStyle(document.querySelector('.cm-gutters')).display")

    expect(gutters).toBe('flex')
    expect(complaints).toEqual([])
  })

  test('a page from the browser cache renders with its cached nonce', async () => {
    const page = await openPage()
    const complaints: string[] = []
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })
    await page.goto(`${server.url}/app/sign-in`)
    await page.getByLabel('Password').waitFor()
    const nonceOf = () => page.evaluate<string>("document.querySelector('meta[name=csp-nonce]').content")
    const before = await nonceOf()

    await page.reload()
    await page.getByLabel('Password').waitFor()
    const isAllowed = await page.evaluate<boolean>(`(() => {
      const style = document.createElement('style')
      style.nonce = document.querySelector('meta[name=csp-nonce]').content
      style.textContent = 'body { --allowed: yes }'
      document.head.append(style)
      return getComputedStyle(document.body).getPropertyValue('--allowed').trim() === 'yes'
    })()`)

    expect(isAllowed).toBe(true)
    expect(complaints).toEqual([])
    expect(await nonceOf()).toBe(before)
  })

  test('the selected theme is applied before the first paint', async () => {
    const page = await openPage()
    await page.emulateMedia({ colorScheme: 'dark' })
    const theme = () => page.evaluate<string>('document.documentElement.dataset.theme')

    // No other script of the application runs.
    await page.route('**/assets/index-*.js', (route) => route.abort())
    await page.goto(`${server.url}/app/sign-in`)
    const ofSystem = await theme()
    await page.evaluate("localStorage.setItem('groundstate-theme', 'light')")
    await page.reload()

    expect(ofSystem).toBe('dark')
    expect(await theme()).toBe('light')
  })
})
