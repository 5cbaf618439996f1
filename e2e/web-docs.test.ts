import { describe, expect, test } from 'vitest'
import { hasBrowser, openPage } from './browser.ts'
import { accessFaults, bootWebServer, DESK, openAdminPage, overflowOf, PHONE, watchFaults } from './web-page.ts'

describe.skipIf(!hasBrowser)('the documentation', async () => {
  if (!hasBrowser) return
  const server = await bootWebServer({ GROUNDSTATE_AGENTS: '0' })
  const page = await openPage()
  await page.setViewportSize(DESK)
  const faults = watchFaults(page)

  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })

  async function open(path: string, title: string) {
    await page.goto(`${server.url}${path}`)
    await heading(title).waitFor()
  }

  test('lists all documents by reader without a session, and each opens', async () => {
    await open('/docs', 'Documentation')
    const links = await page.getByRole('navigation', { name: 'Documents' }).getByRole('link').all()
    const documents = await Promise.all(links.map(async (link) => [await link.textContent(), link] as const))
    const titles: string[] = []
    for (const [title, link] of documents) {
      await link.click()
      await heading(title ?? '').waitFor()
      await page.getByRole('article').or(page.getByLabel('Search operations')).waitFor()
      titles.push(await page.title())
    }

    expect(documents.length).toBeGreaterThan(20)
    expect(titles).toEqual(documents.map(([title]) => `${title} · Groundstate`))
  })

  test('a link leads to the heading of another document, and Back returns', async () => {
    await open('/docs/run-tasks', 'Run tasks')
    await page.getByRole('link', { name: 'your first run' }).click()
    await heading('Get started').waitFor()
    const target = page.getByRole('heading', { name: 'Your first run' })
    await target.waitFor()
    await expect.poll(() => page.evaluate<string>('document.activeElement?.id')).toBe('your-first-run')
    const box = await target.boundingBox()
    await page.goBack()
    await heading('Run tasks').waitFor()

    expect(box?.y).toBeGreaterThanOrEqual(0)
    expect(box?.y).toBeLessThan(DESK.height / 2)
  })

  test('an address with a heading opens at it, and code can be copied', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await open('/docs/run-tasks#debug-a-receiver', 'Run tasks')
    await expect.poll(() => page.evaluate<string>('document.activeElement?.id')).toBe('debug-a-receiver')
    const code = page.getByRole('region', { name: /^code, line/ }).first()
    await page
      .getByRole('button', { name: /^Copy code/ })
      .first()
      .click()
    await page.getByText('Copied').waitFor()

    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(await code.textContent())
  })

  test('searches all documents, and a result opens its section', async () => {
    await open('/docs/concepts', 'Concepts')
    await page.getByRole('heading', { level: 1 }).click()
    await page.keyboard.press('/')
    await page.keyboard.type('hmac signature')
    await heading('Search results').waitFor()
    const result = page
      .getByRole('list', { name: 'Results' })
      .getByRole('link', { name: 'Run tasks: Check the signature' })
    await result.waitFor()
    const access = await accessFaults(page)
    const { pathname, search } = new URL(page.url())
    await result.click()
    await expect.poll(() => page.evaluate<string>('document.activeElement?.id')).toBe('check-the-signature')
    await page.goto(`${server.url}/docs?q=xyzzyplugh`)
    await page.getByText('No page mentions “xyzzyplugh”').waitFor()

    expect(pathname + search).toBe('/docs?q=hmac+signature')
    expect(access).toEqual([])
  })

  test('an unknown page says so', async () => {
    for (const path of ['/docs/nowhere', '/docs/run-tasks/nowhere', '/docs/api/nowhere']) {
      await open(path, 'Page not found')
      await page.getByText(path).waitFor()
    }
    const access = await accessFaults(page)
    await page.getByRole('link', { name: 'all pages' }).click()
    await heading('Documentation').waitFor()

    expect(access).toEqual([])
  })

  test('leads back to the place in the application', async () => {
    const own = await openAdminPage(server, '/app/main/workspaces?q=shop')
    await own.getByRole('link', { name: 'Documentation' }).click()
    await own.getByRole('heading', { name: 'Documentation', level: 1 }).waitFor()
    await own.getByRole('link', { name: 'Concepts' }).first().click()
    await own.getByRole('heading', { name: 'Concepts', level: 1 }).waitFor()
    await own.reload()
    await own.getByRole('link', { name: 'Back to application' }).click()
    await own.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()
    const { pathname, search } = new URL(own.url())

    expect(pathname + search).toBe('/app/main/workspaces?q=shop')
  })

  test('leads back to a page that was left before it had loaded', async () => {
    const own = await openAdminPage(server, '/app/main')
    await own.getByRole('heading', { name: 'main', level: 1 }).waitFor()
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    await own.route('**/*.js', async (route) => {
      await released
      await route.continue()
    })

    await own.getByRole('link', { name: 'Teams' }).click()
    await own.getByRole('link', { name: 'Documentation' }).click()
    release()
    await own.getByRole('link', { name: 'Back to application' }).click()

    await own.getByRole('heading', { name: 'Teams', level: 1 }).waitFor()
    expect(new URL(own.url()).pathname).toBe('/app/main/teams')
  })

  test('is accessible, and readable on a phone', async () => {
    const found: string[] = []
    for (const [path, title] of [
      ['/docs', 'Documentation'],
      ['/docs/settings', 'Settings'],
      ['/docs/runs', 'Runs'],
      ['/docs/web', 'The web UI'],
    ] as const) {
      await open(path, title)
      found.push(...(await accessFaults(page)).map((fault) => `${path}: ${fault}`))
      await page.setViewportSize(PHONE)
      found.push(...((await overflowOf(page)) > 0 ? [`${path} is wider than a phone`] : []))
    }
    await page.getByRole('button', { name: 'Navigation' }).click()
    await page.getByRole('dialog', { name: 'Navigation' }).getByRole('link', { name: 'Sign-in' }).click()
    await heading('Sign-in').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.setViewportSize(DESK)

    expect(found).toEqual([])
    expect(faults).toEqual([])
  })
})
