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

  test('several are locked at once, and the one that is skipped shows the reason', async () => {
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
    await dialog.getByText('already locked: bulk-held').waitFor()
    const dialogFaults = await accessFaults(page)
    await dialog.getByRole('button', { name: 'Lock: 2 workspaces' }).click()
    await dialog.getByText('2 workspaces locked').waitFor()
    const skipped = await dialog.getByText('1 workspace skipped').count()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page
      .getByRole('img', { name: /locked by admin since .*: maintenance/ })
      .first()
      .waitFor()

    expect([...barFaults, ...dialogFaults]).toEqual([])
    expect(skipped).toBe(1)
    for (const id of [first, second]) {
      const { data } = await server.api('GET', `/workspaces/${id}`)
      expect(data.attributes['locked-reason']).toBe('maintenance')
    }
  })

  test('everything that matches the filter is selected, beyond the page; a failure is retried', async () => {
    const names = Array.from({ length: 120 }, (_, n) => `fleet-${String(n).padStart(3, '0')}`)
    for (let at = 0; at < names.length; at += 20)
      await Promise.all(names.slice(at, at + 20).map(async (name) => createWorkspace(server, name)))

    await open('/app/main/workspaces?q=fleet-')
    await page.getByLabel('Select all on this page').check()
    await page.getByText('All 50 on this page are selected.').waitFor()
    const barFaults = await accessFaults(page)
    await page.getByRole('button', { name: 'Select all 120 that match' }).click()
    await page.getByText('All 120 workspaces that match are selected').waitFor()
    await page.getByRole('region', { name: 'Selected workspaces' }).getByRole('button', { name: 'Add tag' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Tag').fill('fleet=blue')
    // Like a proxy while the server restarts.
    let isDown = true
    await page.route('**/tag-bindings', async (route) => (isDown ? route.fulfill({ status: 400 }) : route.continue()))
    await dialog.getByRole('button', { name: 'Add tag: 120 workspaces' }).click()
    await dialog.getByText('0 workspaces tagged, 120 failed').waitFor()
    isDown = false
    await dialog.getByRole('button', { name: 'Retry 120 failed' }).click()
    await dialog.getByText('120 workspaces tagged', { exact: true }).waitFor()
    await page.unroute('**/tag-bindings')
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByLabel('Select all on this page').uncheck()
    const { meta } = await server.api(
      'GET',
      '/organizations/main/workspaces?filter[tagged][0][key]=fleet&filter[tagged][0][value]=blue',
    )

    expect(barFaults).toEqual([])
    expect(meta.pagination['total-count']).toBe(120)
    expect(await page.getByRole('region', { name: 'Selected workspaces' }).count()).toBe(0)
  })

  test('tags are added to several workspaces and are then available as a filter', async () => {
    for (const name of ['tagged-a', 'tagged-b', 'tagged-c']) await createWorkspace(server, name)

    await open('/app/main/workspaces?q=tagged-')
    for (const name of ['tagged-a', 'tagged-b']) await page.getByLabel(`Select ${name}`).check()
    await page.getByRole('button', { name: 'Add tag' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Tag').fill('bad key!')
    await dialog.getByRole('alert').getByText('the key may only contain letters').waitFor()
    await dialog.getByLabel('Tag').fill(`long=${'x'.repeat(200)}`)
    await dialog.getByRole('button', { name: 'Add tag: 2 workspaces' }).click()
    await dialog.getByText('2 workspaces tagged').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    const long = page.getByRole('table').getByRole('button', { name: 'Filter by tag long' }).first()
    const width = (await long.boundingBox())?.width
    const overflow = await overflowOf(page)
    for (const name of ['tagged-a', 'tagged-b']) await page.getByLabel(`Select ${name}`).check()
    await page.getByRole('button', { name: 'Add tag' }).click()
    await dialog.getByLabel('Tag').fill('env=prod')
    await dialog.getByRole('button', { name: 'Add tag: 2 workspaces' }).click()
    await dialog.getByText('2 workspaces tagged').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('button', { name: 'Filter by tag env: prod' }).first().click()
    await page.getByRole('link', { name: 'tagged-c' }).waitFor({ state: 'detached' })

    expect(width).toBeLessThanOrEqual(192)
    expect(overflow).toBe(0)
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
    expect(await own.getByRole('button', { name: 'New workspace' }).getAttribute('data-tooltip')).toContain(
      'you can’t create workspaces',
    )
    expect(await namesOf(own)).toEqual(['for-readers'])
    expect(ownFaults).toEqual([])
  })

  test('the list fits on a phone, and no request has failed', async () => {
    await createWorkspace(server, 'w'.repeat(90))

    await page.setViewportSize(PHONE)
    await open('/app/main/workspaces')
    await page.getByRole('table').waitFor()

    expect(await overflowOf(page)).toBe(0)
    // The invalid version and the tags were rejected on purpose.
    expect(faults.filter((fault) => !/^(?:422|400) POST/.test(fault))).toEqual([])
  })
})
