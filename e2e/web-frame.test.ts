import { connect, type Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { watch } from '../server/src/features/site/changes/testing/watch.ts'
import { createTcpProxy } from '../server/src/testing/tcp-proxy.ts'
import { hasBrowser, openPage } from './browser.ts'
import {
  accessFaults,
  bootWebServer,
  createMember,
  createPerson,
  DESK,
  openAdminPage,
  openPageOf,
  overflowOf,
  PHONE,
  signIn,
} from './web-page.ts'

describe.skipIf(!hasBrowser)('the frame', async () => {
  if (!hasBrowser) return
  const server = await bootWebServer()
  for (const name of ['kafka-prod', 'kafka-test', 'shop']) await createWorkspace(name)
  const page = await openAdminPage(server, '/app/main/workspaces')

  async function createWorkspace(name: string) {
    return (
      await server.api('POST', '/organizations/main/workspaces', { data: { type: 'workspaces', attributes: { name } } })
    ).data
  }

  async function focusOf(own: Page) {
    return own.evaluate<string>('document.activeElement?.textContent ?? ""')
  }

  test('the palette finds a workspace, and Back returns', async () => {
    await page.goto(`${server.url}/app/main/workspaces`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Go to' }).fill('afka-te')
    await page.getByRole('option', { name: 'kafka-test' }).waitFor()
    const access = await accessFaults(page)
    await page.getByRole('combobox', { name: 'Go to' }).press('Enter')
    await page.getByRole('heading', { name: 'kafka-test' }).waitFor()
    const path = new URL(page.url()).pathname
    const focused = await focusOf(page)
    await page.goBack()
    await page.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()

    expect(access).toEqual([])
    expect(path).toBe('/app/main/workspaces/kafka-test')
    expect(focused).toContain('kafka-test')
  })

  test('the palette knows tabs, sections, actions and documents, and how many more match', async () => {
    for (let number = 0; number < 10; number += 1) await createWorkspace(`many-${number}`)
    const combobox = page.getByRole('combobox', { name: 'Go to' })
    const go = async (from: string, text: string, option: string | RegExp) => {
      await page.goto(`${server.url}${from}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.keyboard.press('Control+k')
      await combobox.fill(text)
      await page.getByRole('option', { name: option }).first().click()
      return page
    }

    await go('/app/main/workspaces/shop', 'sharing', /State sharing/)
    await page.waitForURL('**/app/main/workspaces/shop/settings/sharing')
    await go('/app/main/workspaces/shop', 'new run', 'New run')
    await page.getByRole('dialog', { name: /run/i }).waitFor()
    await go('/app/main/workspaces/shop', 'destroy', 'New destroy run…')
    await page.getByRole('dialog', { name: /run/i }).waitFor()
    await go('/app/main/workspaces/shop', 'lock', 'Lock…')
    await page.getByRole('button', { name: 'Lock workspace' }).click()
    await page.getByText('shop locked').waitFor()
    await go('/app/main/workspaces/shop', 'unlock', 'Unlock')
    await page.getByText('shop unlocked').waitFor()
    await go('/app/main/workspaces/shop', 'new team', 'New team')
    await page.getByRole('dialog', { name: 'New team' }).waitFor()
    await go('/app/main/workspaces', 'new user', 'New user')
    await page.getByRole('dialog', { name: 'New user' }).waitFor()
    await go('/app/main/workspaces', 'kafka-prod variables', /^Variables/)
    await page.waitForURL('**/app/main/workspaces/kafka-prod/variables')
    await go('/app/settings/account', 'quotas', /^Quotas/)
    await page.waitForURL('**/app/main/settings/quotas')
    await go('/app/main/workspaces', 'failed jobs', /^Failed jobs/)
    await page.waitForURL('**/app/admin/jobs')
    await go('/app/main/workspaces', 'chain', /^Chain workspaces/)
    await page.waitForURL('**/docs/chain-workspaces')
    await go('/app/main/workspaces', 'theme dark', 'Theme: dark')
    await expect.poll(() => page.evaluate<string>('document.documentElement.dataset.theme')).toBe('dark')
    await go('/app/main/workspaces', 'theme system', 'Theme: system')
    await page.keyboard.press('Control+k')
    await combobox.fill('many')
    await page.getByText('Workspaces: 8 of 10, type more').waitFor()
    const access = await accessFaults(page)
    await page.keyboard.press('Escape')

    expect(access).toEqual([])
  })

  test('the palette of a member offers only what the member may open', async () => {
    await createMember(server, 'reader', {})
    const own = await openPageOf(server, 'reader', '/app/main/workspaces')
    await own.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()
    await own.keyboard.press('Control+k')
    const combobox = own.getByRole('combobox', { name: 'Go to' })
    await combobox.fill('audit trail')
    await own
      .getByRole('option', { name: /^Audit trail/ })
      .first()
      .waitFor()
    const audits = await own.getByRole('option').allTextContents()
    await combobox.fill('sample project')
    await own.getByText('No matches').waitFor()
    await combobox.fill('failed jobs')
    await own.getByText('No matches').waitFor()
    await combobox.fill('new team')
    await own.getByText('No matches').waitFor()

    // The document, not the page.
    expect(audits.filter((text) => text === 'Audit trail')).toEqual([])
  })

  test('a short address opens its page, or says what was not found', async () => {
    await page.goto(`${server.url}/app/main/teams`)
    await page.getByRole('heading', { name: 'Teams', level: 1 }).waitFor()
    await page.goto(`${server.url}/app/main/teamz`)
    await page.getByText('No workspace named “teamz” in main.').waitFor()
    const access = await accessFaults(page)
    await page.getByRole('main').getByRole('link', { name: 'Teams' }).click()
    await page.getByRole('heading', { name: 'Teams', level: 1 }).waitFor()
    await page.goto(`${server.url}/app/main/sho`)
    await page.getByRole('link', { name: 'Workspaces with “sho” in their name' }).click()
    await page.getByRole('link', { name: 'shop', exact: true }).waitFor()

    expect(access).toEqual([])
  })

  test('the pages of the user keep the navigation after a reload, with all pages in groups', async () => {
    await page.goto(`${server.url}/app/settings/tokens`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.reload()
    const navigation = page.getByRole('navigation', { name: 'Main' })
    await navigation.getByRole('link', { name: 'Audit trail' }).waitFor()
    const texts = await navigation.getByRole('link').allTextContents()
    await page.keyboard.press('g')
    await page.keyboard.press('m')
    await page.waitForURL('**/app/main/members')

    expect(texts).toEqual([
      'Overview',
      'Workspaces',
      'Runs',
      'Projects',
      'Variable sets',
      'Run tasks',
      'Policies',
      'Run triggers',
      'Registry',
      'Connections',
      'Agents',
      'Members',
      'Teams',
      'Audit trail',
      'Settings',
      'Administration',
      'Account',
      'API tokens',
      'Documentation',
    ])
  })

  test('the first load is small: few requests, and overlays only when needed', async () => {
    const own = await openAdminPage(server, '/app/main')
    await own.getByRole('heading', { name: 'main', level: 1 }).waitFor()
    // The sign-in is announced to open pages within two seconds, which would refetch.
    await own.waitForTimeout(2500)
    const cold = await openPage()
    await cold.context().addCookies(await own.context().cookies())
    const requests: string[] = []
    cold.on('request', (request) => requests.push(request.url()))
    await cold.goto(`${server.url}/app/main`)
    await cold.getByRole('heading', { name: 'main', level: 1 }).waitFor()
    await expect.poll(() => requests.some((url) => url.includes('/changes'))).toBe(true)
    await cold.waitForTimeout(1000)
    // What is read before the event stream opens may be read once more, depending on which is faster.
    const atStart = Map.groupBy(requests, (url) => url)
    await cold.getByRole('button', { name: 'Theme' }).hover()
    await expect.poll(() => requests.some((url) => url.includes('overlays'))).toBe(true)

    expect(atStart.size).toBeLessThanOrEqual(23)
    expect([...atStart.values()].filter((same) => same.length > 2)).toEqual([])
  })

  test('an invalid page in the address is the first page', async () => {
    await page.goto(`${server.url}/app/main/workspaces?page=zzz&sort=name`)
    await page.getByRole('link', { name: 'kafka-test' }).waitFor()

    expect(new URL(page.url()).search).toBe('?sort=name')
  })

  test('keyboard shortcuts navigate and are listed; fields keep their keys', async () => {
    await page.goto(`${server.url}/app/main/workspaces`)
    await page.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()
    await page.keyboard.press('?')
    const shortcuts = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await shortcuts.getByText('Audit trail').waitFor()
    await shortcuts.getByText('Confirm & apply…').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await page.keyboard.type('gr?')
    const typed = await page.getByRole('searchbox').first().inputValue()
    await page.getByRole('heading', { level: 1 }).click()
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.waitForURL('**/app/main/runs')

    expect(typed).toBe('gr?')
  })

  test('the first Tab offers a skip link, and the selected theme persists', async () => {
    await page.goto(`${server.url}/app/main/workspaces`)
    await page.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()
    await page.keyboard.press('Tab')
    const first = await focusOf(page)
    await page.keyboard.press('Enter')
    const reached = await page.evaluate<string>('document.activeElement?.id ?? ""')
    await page.getByRole('button', { name: 'Theme' }).click()
    await page.getByRole('menuitem', { name: 'Dark' }).click()
    await page.reload()
    const theme = await page.evaluate<string>('document.documentElement.dataset.theme')
    await page.getByRole('button', { name: 'Theme' }).click()
    await page.getByRole('menuitem', { name: 'System' }).click()

    expect(first).toBe('Skip to content')
    expect(reached).toBe('content')
    expect(theme).toBe('dark')
  })

  test('on a phone the navigation is in a drawer', async () => {
    await page.setViewportSize(PHONE)
    await page.goto(`${server.url}/app/main/workspaces`)
    await page.getByRole('button', { name: 'Navigation' }).click()
    const drawer = page.getByRole('dialog', { name: 'Navigation' })
    await drawer.getByRole('link', { name: 'Runs' }).click()
    await page.waitForURL('**/app/main/runs')
    await drawer.waitFor({ state: 'detached' })
    const overflow = await overflowOf(page)
    await page.setViewportSize(DESK)

    expect(overflow).toBe(0)
  })

  test('missing and forbidden pages link to somewhere useful', async () => {
    await createPerson(server, 'outsider')
    const own = await openPageOf(server, 'outsider', '/app/main/workspaces/shop')
    const ofOutsider = await own.getByRole('heading', { level: 1 }).textContent()
    await page.goto(`${server.url}/app/main/workspaces/nowhere`)
    await page.getByRole('heading', { name: 'Workspace not found' }).waitFor()
    const title = await page.title()
    await page.goto(`${server.url}/app/main/workspaces/shop/nothing/of/this/kind`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    const access = await accessFaults(page)
    await page.getByRole('link', { name: 'Workspaces' }).first().click()
    await page.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()

    expect(ofOutsider).toBe('Organization not found')
    expect(title).toContain('Not found')
    expect(access).toEqual([])
  })

  test('an expired session leads to the sign-in page, and back to the same page', async () => {
    const person = await createPerson(server, 'late')
    await server.api('POST', '/organizations/main/organization-memberships', {
      data: { type: 'organization-memberships', attributes: { email: 'late@example.com' } },
    })
    const own = await openPageOf(server, 'late', '/app/main/workspaces?q=kafka')
    await own.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()

    await server.api('DELETE', '/account/sessions', undefined, person)
    await own.getByLabel('Username or email').waitFor()
    await signIn(own, 'late')
    await own.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()

    expect(new URL(own.url()).pathname + new URL(own.url()).search).toBe('/app/main/workspaces?q=kafka')
  })

  test('a removed member sees that the organization does not exist', async () => {
    await createPerson(server, 'former')
    const { data: membership } = await server.api('POST', '/organizations/main/organization-memberships', {
      data: { type: 'organization-memberships', attributes: { email: 'former@example.com' } },
    })
    const own = await openPageOf(server, 'former', '/app/main/workspaces')
    await own.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()

    await server.api('DELETE', `/organization-memberships/${membership.id}`)
    await own.getByRole('heading', { name: 'Organization not found' }).waitFor()
    await own.getByText('Connection lost').waitFor({ state: 'detached' })
    const { searchParams, pathname } = new URL(own.url())

    expect(pathname + searchParams.toString()).toBe('/app/main/workspaces')
  })

  test('tabs share a connection for changes, and one takes over when another is closed', async () => {
    const first = await openAdminPage(server, '/app/main/workspaces')
    await first.getByRole('link', { name: 'kafka-prod', exact: true }).waitFor()
    const second = await first.context().newPage()
    const streams: string[] = []
    second.on('request', (request) => {
      if (request.url().includes('/changes')) streams.push(request.url())
    })
    await second.goto(`${server.url}/app/main/workspaces`)
    await second.getByRole('link', { name: 'kafka-prod', exact: true }).waitFor()

    await createWorkspace('two-tabs')
    for (const tab of [first, second]) await tab.getByRole('link', { name: 'two-tabs', exact: true }).waitFor()
    const ofFollower = streams.length
    await first.close()
    await createWorkspace('one-tab')
    await second.getByRole('link', { name: 'one-tab', exact: true }).waitFor()

    expect(ofFollower).toBe(0)
    expect(streams).toHaveLength(1)
  })

  test('Back does not reopen a closed dialog', async () => {
    await page.goto(`${server.url}/app/main/workspaces/shop`)
    await page.getByRole('banner').waitFor()
    await page.getByRole('button', { name: 'New run' }).first().click()
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.waitForURL('**/app/main/workspaces/shop')
    await page.goBack()
    const back = new URL(page.url())

    expect(back.pathname + back.search).toBe('/app/main/workspaces/shop')
  })

  test('Back leads from a created project to the list without the dialog', async () => {
    await page.goto(`${server.url}/app/main/projects`)
    await page.getByRole('button', { name: 'New project' }).first().click()
    await page.getByLabel('Name').fill('created')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByRole('heading', { name: 'created', level: 1 }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()

    expect(new URL(page.url()).search).toBe('')
    expect(await page.getByRole('dialog', { name: 'New project' }).count()).toBe(0)
  })

  test('changes by others appear automatically, including those made while disconnected', async () => {
    const sockets = new Set<Socket>()
    let isCut = false
    const port = await createTcpProxy(
      () => connect(Number(new URL(server.url).port), '127.0.0.1'),
      (client, target) => {
        if (isCut) return void client.destroy()
        sockets.add(client)
        client.pipe(target)
        target.pipe(client)
      },
    )
    const own = await openPage()
    const streams: string[] = []
    own.on('request', (request) => {
      if (request.url().includes('/changes')) streams.push(new URL(request.url()).search)
    })
    await own.goto(`http://127.0.0.1:${port}/app/main/workspaces`)
    await signIn(own, 'admin', server.adminPassword())
    await own.getByRole('link', { name: 'kafka-prod', exact: true }).waitFor()

    await createWorkspace('live-one')
    await own.getByRole('link', { name: 'live-one', exact: true }).waitFor()
    isCut = true
    for (const socket of sockets) socket.destroy()
    await own.getByText('Connection lost').waitFor()
    await createWorkspace('live-two')
    isCut = false
    await own.getByRole('link', { name: 'live-two', exact: true }).waitFor()
    await own.getByText('Connection lost').waitFor({ state: 'detached' })

    expect(streams[0]).toBe('')
    expect(streams.at(-1)).toMatch(/^\?after=./)
  })

  test('without a stream of changes, a page polls', async () => {
    const person = await createMember(server, 'many', {})
    const path = `/users/${person.id}/authentication-tokens`
    const body = { data: { type: 'authentication-tokens', attributes: {} } }
    const { data: other } = await server.api('POST', path, body, person)
    for (const token of [person.token, other.attributes.token as string])
      for (let number = 0; number < 20; number += 1) await watch(server.url, 'main', { token })
    const own = await openPageOf(server, 'many', '/app/main/workspaces')
    await own.getByText('Connection lost').waitFor()

    const { id } = await createWorkspace('polled')
    await server.api('POST', '/team-workspaces', {
      data: {
        type: 'team-workspaces',
        attributes: { access: 'read' },
        relationships: {
          workspace: { data: { type: 'workspaces', id } },
          team: { data: { type: 'teams', id: person.teamId } },
        },
      },
    })

    const link = own.getByRole('link', { name: 'polled', exact: true })
    await link.waitFor({ timeout: 60_000 })

    expect(await link.count()).toBe(1)
  })
})
