import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import type { BootedServer } from './server.ts'
import {
  accessFaults,
  bootWebServer,
  createMember,
  openAdminPage,
  openPageOf,
  overflowOf,
  PHONE,
  watchFaults,
} from './web-page.ts'

async function createWorkspace(server: BootedServer, name: string, attributes: object = {}) {
  const { data } = await server.api('POST', '/organizations/main/workspaces', {
    data: { type: 'workspaces', attributes: { name, ...attributes } },
  })
  return data.id as string
}

async function createOrganization(server: BootedServer, name: string) {
  await server.api('POST', '/organizations', {
    data: { type: 'organizations', attributes: { name, email: 'owner@example.com' } },
  })
}

/** The names in the table, in order. */
async function namesOf(page: Page) {
  return page
    .getByRole('table')
    .getByRole('row')
    .getByRole('link', { name: /^[\w-]+$/ })
    .allTextContents()
}

describe.skipIf(!hasBrowser)('the list of workspaces', async () => {
  if (!hasBrowser) return
  const server = await bootWebServer()
  const page = await openAdminPage(server, '/app/main/workspaces')
  await page.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()
  const faults = watchFaults(page)
  const open = async (path: string) => page.goto(`${server.url}${path}`)

  test('an organization without workspaces explains how to create the first one', async () => {
    await createOrganization(server, 'fresh')

    await open('/app/fresh/workspaces')
    await page.getByRole('heading', { name: 'No workspaces yet' }).waitFor()

    expect(await page.getByRole('region', { name: 'the cloud block' }).textContent()).toContain(
      'organization = "fresh"',
    )
    expect(await accessFaults(page)).toEqual([])
  })

  test('a workspace is created in a dialog, which then shows how to use it', async () => {
    await open('/app/main/workspaces')
    await page.getByRole('button', { name: 'New workspace' }).first().click()
    const dialog = page.getByRole('dialog')
    const name = dialog.getByLabel('Name', { exact: true })
    await name.fill('not a name')
    const refusal = await dialog.getByRole('alert').textContent()
    const dialogFaults = await accessFaults(page)
    await name.fill('orders')
    await dialog.getByLabel('Engine version').fill('newest')
    await dialog.getByRole('button', { name: 'Create workspace' }).click()
    const ofVersion = await dialog.getByRole('alert').textContent()
    await dialog.getByLabel('Engine version').fill('~> 1.11')
    await dialog.getByRole('button', { name: 'Create workspace' }).click()
    await page.getByRole('dialog', { name: 'orders is ready' }).waitFor()
    const block = await page.getByRole('dialog').getByRole('region', { name: 'the cloud block' }).textContent()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'orders' }).click()
    await page.waitForURL('**/app/main/workspaces/orders')

    expect(refusal).toContain('letters, numbers, underscores and hyphens')
    expect(dialogFaults).toEqual([])
    expect(ofVersion).toContain('it must be latest')
    expect(block).toContain('name = "orders"')
    const { data } = await server.api('GET', '/organizations/main/workspaces/orders')
    expect(data.attributes['engine-version']).toBe('~> 1.11')
  })

  test('the URL holds search, filters and order, and Back steps through them', async () => {
    await createWorkspace(server, 'search-alpha')
    await createWorkspace(server, 'search-beta', { 'engine-version': '1.10.0' })
    await createWorkspace(server, 'other-gamma')

    await open('/app/main/workspaces')
    await page.getByRole('link', { name: 'other-gamma' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('search-')
    await page.getByRole('link', { name: 'other-gamma' }).waitFor({ state: 'detached' })
    const found = await namesOf(page)
    await page.getByRole('button', { name: 'Name' }).click()
    await page.waitForURL(/sort=-name/)
    await page.getByRole('table').getByRole('row').nth(1).getByText('search-beta').waitFor()
    await page.getByRole('button', { name: 'Engine version' }).click()
    await page.getByRole('dialog').getByRole('combobox').fill('1.10.0')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'search-alpha' }).waitFor({ state: 'detached' })
    const address = new URL(page.url()).searchParams
    await page.goBack()
    await page.getByRole('link', { name: 'search-alpha' }).waitFor()
    const beforeVersion = await namesOf(page)
    await page.getByRole('searchbox').fill('nothing-like-it')
    await page.getByRole('heading', { name: 'No workspaces match' }).waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByRole('link', { name: 'other-gamma' }).waitFor()

    expect(found).toEqual(['search-alpha', 'search-beta'])
    expect(Object.fromEntries(address)).toMatchObject({ q: 'search-', sort: '-name' })
    expect(address.get('version')).toContain('1.10.0')
    expect(beforeVersion).toEqual(['search-beta', 'search-alpha'])
  })

  test('several are locked at once, and the one that fails shows the reason', async () => {
    const [first, second] = [await createWorkspace(server, 'bulk-a'), await createWorkspace(server, 'bulk-b')]
    const held = await createWorkspace(server, 'bulk-held')
    await server.api('POST', `/workspaces/${held}/actions/lock`, { reason: 'taken' })

    await open('/app/main/workspaces?q=bulk-')
    for (const name of ['bulk-a', 'bulk-b', 'bulk-held']) await page.getByLabel(`Select ${name}`).check()
    await page.getByText('3 workspaces selected').waitFor()
    const barFaults = await accessFaults(page)
    await page.getByRole('button', { name: 'Lock', exact: true }).last().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason (optional)').fill('maintenance')
    await dialog.getByText('bulk-held: it is already locked').waitFor()
    await dialog.getByRole('button', { name: 'Lock: 2 workspaces' }).click()
    await dialog.getByText('2 locked, 1 failed').waitFor()
    const outcomes = await dialog.getByRole('listitem').allTextContents()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page
      .getByRole('img', { name: /locked by admin since .*: maintenance/ })
      .first()
      .waitFor()

    expect(barFaults).toEqual([])
    expect(outcomes).toContain('bulk-held: it is already locked')
    for (const id of [first, second]) {
      const { data } = await server.api('GET', `/workspaces/${id}`)
      expect(data.attributes['locked-reason']).toBe('maintenance')
    }
  })

  test('tags are added to several workspaces and are then available as a filter', async () => {
    for (const name of ['tagged-a', 'tagged-b', 'tagged-c']) await createWorkspace(server, name)

    await open('/app/main/workspaces?q=tagged-')
    for (const name of ['tagged-a', 'tagged-b']) await page.getByLabel(`Select ${name}`).check()
    await page.getByRole('button', { name: 'Add tag' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Tag').fill('env=prod')
    await dialog.getByRole('button', { name: 'Add tag: 2 workspaces' }).click()
    await dialog.getByText('2 tagged').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('button', { name: 'Filter by tag env: prod' }).first().click()
    await page.getByRole('link', { name: 'tagged-c' }).waitFor({ state: 'detached' })

    expect(await namesOf(page)).toEqual(['tagged-a', 'tagged-b'])
    expect(new URL(page.url()).searchParams.get('tag')).toBe('env=prod')
  })

  test('a reader cannot create a workspace and sees why it cannot be locked', async () => {
    const workspaceId = await createWorkspace(server, 'for-readers')
    await createMember(server, 'reader', { workspaceId })
    const own = await openPageOf(server, 'reader', '/app/main/workspaces')
    await own.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()
    const ownFaults = watchFaults(own)
    await own.reload()

    await own.getByLabel('Select for-readers').check()
    const lock = own
      .getByRole('region', { name: 'Selected workspaces' })
      .getByRole('button', { name: 'Lock', exact: true })
    const reason = await lock.getAttribute('aria-description')

    expect(reason).toBe('you can’t lock it')
    expect(await own.getByRole('button', { name: 'New workspace' }).count()).toBe(0)
    expect(await namesOf(own)).toEqual(['for-readers'])
    expect(ownFaults).toEqual([])
  })

  test('the list fits on a phone, and no request has failed', async () => {
    await createWorkspace(server, 'w'.repeat(90))

    await page.setViewportSize(PHONE)
    await open('/app/main/workspaces')
    await page.getByRole('table').waitFor()

    expect(await overflowOf(page)).toBe(0)
    // The invalid version was rejected on purpose.
    expect(faults.filter((fault) => !fault.startsWith('422 POST'))).toEqual([])
  })
})
