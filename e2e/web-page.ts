import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openPage } from './browser.ts'
import { type BootedServer, bootServer } from './server.ts'

export const PASSWORD = 'a good password'

/** Viewports of the tests: desktop and phone. */
export const DESK = { width: 1440, height: 900 }
export const PHONE = { width: 390, height: 844 }

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** A server with the web application; throws when it is not built. */
export async function bootWebServer(settings: Record<string, string> = {}) {
  if (!existsSync(join(import.meta.dirname, '../web/dist/index.html')))
    throw new Error('the web application is not built: `npm run e2e` builds it')
  return bootServer(settings)
}

/** A user with a password, and a token to act for them. */
export async function createPerson(server: BootedServer, username: string) {
  const { data } = await server.api('POST', '/admin/users', {
    username,
    email: `${username}@example.com`,
    password: PASSWORD,
  })
  const path = `/users/${data.id}/authentication-tokens`
  const { data: token } = await server.api('POST', path, { data: { type: 'authentication-tokens', attributes: {} } })
  return { id: data.id as string, username, token: token.attributes.token as string }
}

/** A user in a new team of the organization with this access to a workspace; `access` as in the API. */
export async function createMember(
  server: BootedServer,
  username: string,
  {
    workspaceId,
    access = 'read',
    organization = 'main',
  }: { workspaceId?: string; access?: string; organization?: string },
) {
  const person = await createPerson(server, username)
  const { data: team } = await server.api('POST', `/organizations/${organization}/teams`, {
    data: { type: 'teams', attributes: { name: `team-of-${username}` } },
  })
  await server.api('POST', `/organizations/${organization}/organization-memberships`, {
    data: {
      type: 'organization-memberships',
      attributes: { email: `${username}@example.com` },
      relationships: { teams: { data: [{ type: 'teams', id: team.id }] } },
    },
  })
  if (workspaceId !== undefined) {
    await server.api('POST', '/team-workspaces', {
      data: {
        type: 'team-workspaces',
        attributes: { access },
        relationships: {
          workspace: { data: { type: 'workspaces', id: workspaceId } },
          team: { data: { type: 'teams', id: team.id } },
        },
      },
    })
  }
  return { ...person, teamId: team.id as string }
}

/** Enters a name and a password on the sign-in page. */
export async function signIn(page: Page, username: string, password = PASSWORD) {
  await page.getByLabel('Username or email').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** A page at `path` in a new browser in which `username` is signed in. */
export async function openPageOf(server: BootedServer, username: string, path: string, password = PASSWORD) {
  const page = await openPage()
  await page.setViewportSize(DESK)
  await page.goto(`${server.url}${path}`)
  await signIn(page, username, password)
  // The page within the layout, or the sign-in error.
  await page.locator('main#content, [role=alert]').first().waitFor()
  return page
}

/** Like `openPageOf`, for the first administrator. */
export async function openAdminPage(server: BootedServer, path: string) {
  return openPageOf(server, 'admin', path, server.adminPassword())
}

/**
 * Collects what a browser reports: script and console errors, and failed requests. `expected` are
 * substrings of errors that the test causes on purpose.
 */
export function watchFaults(page: Page, expected: readonly (string | RegExp)[] = []) {
  const faults: string[] = []
  const add = (text: string) => {
    if (!expected.some((known) => (typeof known === 'string' ? text.includes(known) : known.test(text))))
      faults.push(text)
  }
  page.on('pageerror', (error) => add(`error: ${error.message}`))
  page.on('console', (message) => {
    // A failed request is reported with its URL below.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      add(`console: ${message.text()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) add(`${response.status()} ${response.request().method()} ${response.url()}`)
  })
  return faults
}

/** Violations that axe finds on the open page, in both themes and sizes. */
export async function accessFaults(page: Page) {
  const source = await readFile(AXE, 'utf8')
  const found = new Set<string>()
  for (const theme of ['light', 'dark']) {
    // Sets what a user selects in the menu.
    await page.evaluate(`document.documentElement.dataset.theme = ${JSON.stringify(theme)}`)
    for (const size of [DESK, PHONE]) {
      await page.setViewportSize(size)
      await page.evaluate(`window.axe ?? (0, eval)(${JSON.stringify(source)})`).catch(async () => page.evaluate(source))
      const violations = await page.evaluate<{ id: string; at: string[] }[]>(
        `axe.run(document, { runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) => violations.map(({ id, nodes }) => ({ id, at: nodes.slice(0, 3).map(({ target, html }) => target.join(' ') + ' ' + html.slice(0, 120)) })))`,
      )
      for (const { id, at } of violations) found.add(`${id} (${theme}, ${size.width} px): ${at.join(' | ')}`)
    }
  }
  await page.setViewportSize(DESK)
  return [...found]
}

/** Horizontal overflow of the page, in px, once it has adapted to its size. */
export async function overflowOf(page: Page) {
  await page
    .waitForFunction('document.documentElement.scrollWidth <= innerWidth', undefined, { timeout: 2000 })
    .catch(() => undefined)
  return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
}

/** Violations of the page as it is, and whether it is wider than a phone; afterwards it has the size of a desktop. */
export async function layoutFaults(page: Page) {
  const found = await accessFaults(page)
  await page.setViewportSize(PHONE)
  const overflow = await overflowOf(page)
  if (overflow > 0) found.push(`it is ${overflow} px wider than a phone`)
  await page.setViewportSize(DESK)
  return found
}
