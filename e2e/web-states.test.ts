import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { until } from './run-progress.ts'
import type { BootedServer } from './server.ts'
import { localWorkspace, rawState, storeState } from './stored-states.ts'
import {
  accessFaults,
  bootWebServer,
  createMember,
  DESK,
  openAdminPage,
  openPageOf,
  overflowOf,
  PHONE,
  watchFaults,
} from './web-page.ts'
import { button, region } from './workspace-page.ts'

let server: BootedServer
let page: Page
let faults: string[]
let shop: string
/** The versions of the workspace `shop`, by their serials. */
const versions = new Map<number, string>()

const PASSWORD_OUTPUT = { value: 'swordfish-99', type: 'string', sensitive: true }

beforeAll(async () => {
  if (!hasBrowser) return
  server = await bootWebServer()
  shop = await localWorkspace(server, 'shop')
  const histories = [
    [{ name: 'old', attributes: { input: 'gone' } }],
    [
      { name: 'web', attributes: { input: 'small', secret: 'swordfish-1' }, sensitive: ['secret'] },
      { name: 'subnet', attributes: { input: 'a' }, module: 'module.net' },
    ],
    [
      { name: 'web', attributes: { input: 'large', secret: 'swordfish-2' }, sensitive: ['secret'] },
      { name: 'cache', attributes: { input: 'new' }, module: 'module.net.module.deep' },
    ],
  ]
  for (const [at, resources] of histories.entries()) {
    const outputs = { password: PASSWORD_OUTPUT, size: { value: at, type: 'number' } }
    versions.set(at + 1, await storeState(server, shop, rawState({ serial: at + 1, resources, outputs })))
  }
  page = await openAdminPage(server, '/app/main/workspaces/shop/states')
  await page.getByText('Serial 3').waitFor()
  faults = watchFaults(page, ['ERR_ABORTED'])
})

async function open(query: string, workspace = 'shop') {
  await page.goto(`${server.url}/app/main/workspaces/${workspace}/states${query}`)
  await page.getByRole('heading', { name: workspace, level: 1 }).waitFor()
}

function version(serial: number) {
  return versions.get(serial) ?? ''
}

async function current(workspaceId = shop) {
  return (await server.api('GET', `/workspaces/${workspaceId}/current-state-version`)).data
}

async function isLocked() {
  return (await server.api('GET', `/workspaces/${shop}`)).data.attributes.locked as boolean
}

describe.skipIf(!hasBrowser)('the states of a workspace', () => {
  test('are a timeline; two selected ones are compared with sensitive values masked', async () => {
    await open('')
    await page.getByRole('button', { name: 'Pin serial 3 as A' }).press('Enter')
    await page.getByText('One version is pinned').waitFor()
    await page.getByRole('button', { name: 'Pin serial 2 as B' }).press('Enter')
    await page.getByText('A is newer').waitFor()
    const focused = await page.evaluate<string | null>('document.activeElement.getAttribute("aria-label")')
    const web = page.getByRole('table', { name: 'Changes to terraform_data.web' })
    await web.waitFor()
    const text = (await web.innerText()).replaceAll(/\s+/g, ' ')
    const address = new URL(page.url()).searchParams
    const actions = await page.getByRole('button', { expanded: true }).allInnerTexts()

    expect(focused).toBe('Pin serial 2 as B')
    expect(text).toContain('input − small + large')
    expect(text).toContain('secret − sensitive + sensitive')
    expect(await page.content()).not.toContain('swordfish')
    expect([address.get('from'), address.get('to')]).toEqual([version(3), version(2)])
    expect(actions.map((action) => action.replaceAll(/\s+/g, ' ').trim()).join('; ')).toMatch(
      /changed terraform_data\.web.*removed module\.net\.terraform_data\.subnet.*added module\.net\.module\.deep\.terraform_data\.cache/,
    )
  })

  test('are restored by Back and by a shared URL, with their filter', async () => {
    await open(`?from=previous&to=${version(3)}`)
    await page.getByLabel('Search changes').fill('cache')
    await page.getByRole('table', { name: 'Changes to terraform_data.web' }).waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('table', { name: /terraform_data.cache/ }).waitFor()
    await page.getByRole('link', { name: 'serial 2', exact: true }).click()
    await page.getByRole('heading', { name: 'Serial 2', level: 2 }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Comparison' }).waitFor()

    expect(await page.getByLabel('Search changes').inputValue()).toBe('cache')
  })

  test('have outputs; revealing a sensitive one affects only that one and is audited', async () => {
    await open(`?version=${version(2)}&show=outputs`)
    const outputs = page.getByRole('table', { name: 'Outputs' })
    await outputs.getByText('password').waitFor()
    const hidden = await page.content()
    await button(page, 'Reveal password').click()
    await outputs.getByText('swordfish-99').waitFor()
    const trail = await server.api('GET', '/admin/audit-trail?page[size]=20')
    const reads = trail.data.filter(
      ({ resource }: { resource: { type: string; action: string } }) =>
        resource.type === 'state_version_output' && resource.action === 'read',
    )

    expect(hidden).not.toContain('swordfish-99')
    expect(reads).toHaveLength(1)
  })

  test('mark a tainted resource, as the workspace overview does', async () => {
    const frail = await localWorkspace(server, 'frail')
    const resources = [
      { name: 'half', attributes: { input: 'a' }, isTainted: true },
      { name: 'whole', attributes: { input: 'b' } },
    ]
    const id = await storeState(server, frail, rawState({ serial: 1, resources }))
    await open(`?version=${id}`, 'frail')
    await page.getByText('terraform_data.whole').waitFor()
    const inVersion = await page.getByText('tainted', { exact: true }).count()
    const axeOfVersion = await accessFaults(page)
    await page.goto(`${server.url}/app/main/workspaces/frail`)
    const card = region(page, 'Resources')
    await card.getByText('terraform_data.whole').waitFor()
    const marked = await card.getByRole('listitem').filter({ hasText: 'tainted' }).allInnerTexts()
    const axe = await accessFaults(page)

    expect(inVersion).toBe(1)
    expect(marked).toHaveLength(1)
    expect(marked[0]).toContain('terraform_data.half')
    expect([...axeOfVersion, ...axe]).toEqual([])
    expect(faults).toEqual([])
  })

  test('stay on the overview when a later read of their parts fails', async () => {
    const kept = await localWorkspace(server, 'kept')
    const state = (serial: number) =>
      rawState({
        serial,
        resources: [{ name: `r${serial}`, attributes: {} }],
        outputs: { size: { value: `size ${serial}`, type: 'string' } },
      })
    await storeState(server, kept, state(1))
    const own = await openAdminPage(server, '/app/main/workspaces/kept')
    const parts = [region(own, 'Resources').getByText('terraform_data.r1'), region(own, 'Outputs').getByText('size 1')]
    for (const part of parts) await part.waitFor()
    const paths = [/\/resources\?/, /\/current-state-version-outputs$/]
    for (const path of paths) await own.route(path, async (route) => route.fulfill({ status: 500, body: '{}' }))
    const reads = Promise.all(
      paths.map(async (path) =>
        own.waitForResponse((response) => path.test(response.url()) && response.status() === 500),
      ),
    )
    const second = await storeState(server, kept, state(2))
    await reads
    await own.getByRole('link', { name: second }).waitFor()
    const shown = await Promise.all(parts.map(async (part) => part.count()))
    const alerts = await own.getByRole('alert').count()
    await own.unrouteAll()
    await storeState(server, kept, state(3))
    await region(own, 'Resources').getByText('terraform_data.r3').waitFor()

    expect(shown).toEqual([1, 1])
    expect(alerts).toBe(0)
  })

  test('are downloaded under a descriptive file name', async () => {
    await open(`?version=${version(2)}`)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ])
    const stored = JSON.parse(await readFile(await download.path(), 'utf8'))

    expect(download.suggestedFilename()).toBe('shop-2.tfstate')
    expect(stored.serial).toBe(2)
  })

  test('are not rolled back while another user holds the lock, and the page names that user', async () => {
    const bob = await createMember(server, 'bob', { workspaceId: shop, access: 'admin' })
    await server.api('POST', `/workspaces/${shop}/actions/lock`, { reason: 'maintenance' }, { token: bob.token })
    await open(`?version=${version(2)}&show=rollback`)
    await page.getByText(/Can’t roll back: locked by bob since .*: maintenance/).waitFor()
    const isDisabled = await button(page, 'Roll back to serial 2').getAttribute('aria-disabled')
    await button(page, 'Roll back to serial 2').press('Enter')
    await server.api('POST', `/workspaces/${shop}/actions/unlock`, {}, { token: bob.token })

    expect(isDisabled).toBe('true')
    expect((await current()).id).toBe(version(3))
  })

  test('are rolled back after a preview of the changes, under the lock', async () => {
    await open(`?version=${version(2)}`)
    await button(page, 'Roll back').click()
    await region(page, 'Rollback preview').getByText('added').first().waitFor()
    const before = await current()
    await button(page, 'Roll back to serial 2').click()
    await page.getByRole('heading', { name: 'Serial 4', level: 2 }).waitFor()
    await page.getByText('created by a rollback').waitFor()
    const now = await current()
    const content = await (await fetch(now.attributes['hosted-state-download-url'])).json()

    expect(before.id).toBe(version(3))
    expect(now.relationships['rollback-state-version'].data.id).toBe(version(2))
    expect(content).toMatchObject({ serial: 4, resources: [{ name: 'web' }, { name: 'subnet' }] })
    expect(await isLocked()).toBe(false)
  })

  test('are unchanged when a rollback fails halfway, and the lock is released', async () => {
    const before = await current()
    await open(`?version=${version(3)}&show=rollback`)
    await page.route('**/api/v2/workspaces/*/state-versions', async (route) => route.abort())
    await button(page, 'Roll back to serial 3').click()
    await page.getByRole('alert').waitFor()
    await page.unrouteAll()

    expect((await current()).id).toBe(before.id)
    expect(await isLocked()).toBe(false)
  })

  test('show that their content was deleted, and can be restored', async () => {
    await open(`?version=${version(1)}`)
    await button(page, 'Actions for serial 1').click()
    await page.getByRole('menuitem', { name: 'Delete state data' }).click()
    await button(page, 'Delete state data').click()
    await page.getByText('It can be restored until').waitFor()
    await button(page, 'Delete permanently').click()
    const isDisabled = await button(page, 'Delete permanently').getAttribute('aria-disabled')
    await button(page, 'Cancel').click()
    await button(page, 'Restore').click()
    await page.getByText('terraform_data.old').waitFor()

    expect(isDisabled).toBe('true')
  })

  test('appear on an open page automatically', async () => {
    await open('')
    await page.getByText('Serial 4').waitFor()
    await page.getByText('Serial 5').waitFor({ state: 'detached' })
    // The actions of a row are in its menu.
    await button(page, 'Actions for serial 4').click()
    const deletion = await page.getByRole('menuitem', { name: 'Delete state data' }).getAttribute('aria-disabled')
    await page.keyboard.press('Escape')
    expect(deletion).toBe('true')
    await storeState(server, shop, rawState({ serial: 5, resources: [] }))

    const row = page.getByRole('listitem').filter({ hasText: 'Serial 5' })
    await row.getByText('current').waitFor()
    expect(await row.count()).toBe(1)
  })

  test('are hidden from users without permission to read them', async () => {
    await createMember(server, 'eve', { workspaceId: shop, access: 'plan' })
    const team = (await server.api('GET', '/organizations/main/teams')).data.find(
      ({ attributes }: { attributes: { name: string } }) => attributes.name === 'team-of-eve',
    )
    const accesses = await server.api('GET', `/team-workspaces?filter[workspace][id]=${shop}`)
    const access = accesses.data.find(
      ({ relationships }: { relationships: { team: { data: { id: string } } } }) =>
        relationships.team.data.id === team.id,
    )
    await server.api('PATCH', `/team-workspaces/${access.id}`, {
      data: { type: 'team-workspaces', attributes: { access: 'custom', runs: 'read', 'state-versions': 'none' } },
    })
    const own = await openPageOf(server, 'eve', '/app/main/workspaces/shop/states')
    await own.getByText('You don’t have access to the states').waitFor()

    expect(await own.getByRole('link', { name: 'States', exact: true }).count()).toBe(0)
  })

  test('of 50 MB can be opened and searched', async () => {
    const big = await localWorkspace(server, 'big')
    const tags = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`tag${at}`, 'x'.repeat(50)]))
    const resources = Array.from({ length: 10_000 }, (_, at) => ({
      name: `n${at}`,
      attributes: { input: `value ${at}`, tags },
      module: `module.m${at % 50}`,
    }))
    const raw = rawState({ serial: 1, resources })
    const id = await storeState(server, big, raw)
    await until(async () => (await current(big)).attributes['resources-processed'] || undefined)
    await open('', 'big')
    await page.getByText('Serial 1').waitFor()

    const start = performance.now()
    await open(`?version=${id}&show=raw`, 'big')
    await page.getByText('"terraform_version": "1.11.4"').waitFor()
    const opened = performance.now() - start
    await page.getByText(/\d lines$/).waitFor()
    const whole = performance.now() - start
    await page.getByLabel('Search the raw state').fill('"value 9999"')
    await page.getByText('1 of 1 match').waitFor()
    await page.locator('mark').getByText('"value 9999"').waitFor()
    const rows = await region(page, 'Raw state').locator('[style*="height: 20px"]').count()
    console.info(
      `${Math.round(raw.length / 1e6)} MB of state: first lines after ${Math.round(opened)} ms, all after ${Math.round(whole)}`,
    )

    expect(raw.length).toBeGreaterThan(50e6)
    // Before the first lines, only a part of the state is loaded.
    expect(opened).toBeLessThan(30_000)
    expect(rows).toBeLessThan(150)
  })

  test('are loaded again with a new URL after the old one expired', async () => {
    const own = await openAdminPage(server, '/app')
    await own.route('**/_objects/**', async (route) => route.fulfill({ status: 404, body: '{}' }))
    await own.goto(`${server.url}/app/main/workspaces/shop/states?version=${version(2)}&show=raw`)
    await own.getByText('expired').waitFor()
    await own.unrouteAll()
    const reread = own.waitForResponse((response) => response.url().includes(`/state-versions/${version(2)}?`))
    await button(own, 'Try again').click()
    await own.getByText('"serial": 2').waitFor()

    expect((await reread).status()).toBe(200)
  })

  test('have no axe violations, and fit a phone', async () => {
    const found: string[] = []
    const wide: number[] = []
    for (const query of ['', `?version=${version(2)}&show=raw`, `?version=${version(3)}&show=rollback`]) {
      await page.setViewportSize(DESK)
      await open(query)
      await page.getByRole('link', { name: 'Serial 1', exact: true }).waitFor()
      await page.getByRole('status', { name: /^(Loading|Comparing)/ }).waitFor({ state: 'detached' })
      found.push(...(await accessFaults(page)))
      await page.setViewportSize(PHONE)
      wide.push(await overflowOf(page))
    }
    await page.goto(`${server.url}/app/main/workspaces/shop/settings`)
    const tab = await page.getByRole('link', { name: 'Settings', exact: true }).last().boundingBox()
    await page.setViewportSize(DESK)

    // The strip of tabs scrolls to the open one.
    expect((tab?.x ?? 0) + (tab?.width ?? PHONE.width)).toBeLessThan(PHONE.width)
    expect(found).toEqual([])
    expect(wide.filter((px) => px > 0)).toEqual([])
    expect(faults).toEqual([])
  })
})
