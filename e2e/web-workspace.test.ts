import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { type RemoteWorkspace } from './remote-workspaces.ts'
import type { BootedServer } from './server.ts'
import { hasTerraform } from './terraform.ts'
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
import { appliedWorkspace, button, openTab, region } from './workspace-page.ts'

let server: BootedServer
let page: Page
let faults: string[]
let kafka: RemoteWorkspace
beforeAll(async () => {
  if (!hasBrowser || !hasTerraform) return
  server = await bootWebServer()
  kafka = await appliedWorkspace(server)
  await server.api('POST', '/organizations/main/workspaces', {
    data: { type: 'workspaces', attributes: { name: 'network' } },
  })
  page = await openAdminPage(server, '/app/main/workspaces/kafka')
  await page.getByRole('heading', { name: 'kafka', level: 1 }).waitFor()
  faults = watchFaults(page, ['/workspaces/nowhere'])
})

async function settings() {
  return (await server.api('GET', `/workspaces/${kafka.id}`)).data.attributes
}

describe.skipIf(!hasBrowser || !hasTerraform)('the page of a workspace', () => {
  test('shows the latest run, searches resources and reveals a sensitive output only on demand', async () => {
    await openTab(page, server, 'kafka')

    await region(page, 'Latest run').getByRole('link', { name: 'Deploy the brokers' }).waitFor()
    const outputs = region(page, 'Outputs')
    await outputs.getByText('kafka.example.com:9092').waitFor()
    const hidden = await outputs.getByText('correct horse').count()
    await outputs.getByRole('button', { name: 'Reveal password' }).click()
    await outputs.getByText('correct horse battery staple').waitFor()
    await outputs.getByRole('button', { name: 'Hide password' }).click()
    await outputs.getByRole('button', { name: 'Show all 39 lines' }).click()
    await outputs.getByText('"item-29"').waitFor()
    const resources = region(page, 'Resources')
    await resources.getByText('1 to 25 of 30').waitFor()
    await resources.getByLabel('Search by address').fill('broker[17]')
    await resources.getByText('terraform_data.broker[17]').waitFor()
    await resources.getByText('terraform_data.broker[0]').waitFor({ state: 'detached' })

    expect(hidden).toBe(0)
    expect(await outputs.getByText('correct horse').count()).toBe(0)
    expect(new URL(page.url()).searchParams.get('q')).toBe('broker[17]')
    expect(await page.title()).toBe('kafka · run applied · Groundstate')
    expect(faults).toEqual([])
  })

  test('a lock shows its holder and reason, and can be force-unlocked after a warning', async () => {
    await createMember(server, 'ada', { workspaceId: kafka.id, access: 'admin' })

    await openTab(page, server, 'kafka')
    await button(page, 'Lock').click()
    await page.getByLabel('Reason').fill('maintenance')
    await button(page, 'Lock workspace').click()
    await button(page, 'Unlock').waitFor()
    const ada = await openPageOf(server, 'ada', '/app/main/workspaces/kafka')
    const adasFaults = watchFaults(ada)
    await ada.getByText('Locked by admin').waitFor()
    const reason = await button(ada, 'Unlock').getAttribute('data-tooltip')
    await button(ada, 'Unlock').click({ force: true })
    const isStillLocked = (await settings()).locked
    await button(ada, 'Force-unlock').click()
    await ada.getByText('Force-unlock kafka, locked by admin?').waitFor()
    await ada.getByRole('group').getByRole('button', { name: 'Force-unlock' }).click()
    await button(ada, 'Lock').waitFor()

    expect(reason).toMatch(/^locked by admin since \d\d:\d\d: maintenance$/)
    expect(isStillLocked).toBe(true)
    expect((await settings()).locked).toBe(false)
    expect([...faults, ...adasFaults]).toEqual([])
  })

  test('a reader sees settings without controls to change them', async () => {
    await createMember(server, 'rita', { workspaceId: kafka.id, access: 'read' })

    const rita = await openPageOf(server, 'rita', '/app/main/workspaces/kafka/settings')
    const ritasFaults = watchFaults(rita)
    await rita.getByText('You can view these settings').waitFor()
    await rita.getByRole('link', { name: 'Execution' }).click()
    await rita.getByText('root of the configuration').waitFor()
    const fields = await rita.locator('main').getByRole('textbox').count()
    const actions = await rita
      .locator('main')
      .getByRole('button', { name: /Lock|Start|Save|Delete|Attach|Add|Remove/ })
      .count()
    const newRun = await button(rita, 'New run').getAttribute('data-tooltip')
    await rita.getByRole('link', { name: 'Access' }).first().click()
    await rita.getByText('You can see runs, see variables, see outputs, and see states.').waitFor()
    const tabs = await rita
      .getByRole('navigation', { name: 'Workspace', exact: true })
      .getByRole('link')
      .allTextContents()

    expect(newRun).toContain('you can’t start runs here')
    expect(fields).toBe(0)
    expect(actions).toBe(0)
    expect(tabs).toEqual(['Overview', 'Runs', 'States', 'Variables', 'Run tasks', 'Run triggers', 'Access', 'Settings'])
    expect(ritasFaults).toEqual([])
  })

  test('a missing workspace has an error page', async () => {
    await page.goto(`${server.url}/app/main/workspaces/nowhere`)
    await page.getByRole('heading', { name: 'Workspace not found' }).waitFor()

    expect(await page.title()).toBe('Not found · Groundstate')
    expect(faults).toEqual([])
  })

  test('a workspace without runs shows how to start', async () => {
    await openTab(page, server, 'network')

    await page.getByRole('heading', { name: 'No runs yet' }).waitFor()
    expect(await page.getByRole('region', { name: 'the cloud block' }).textContent()).toContain('name = "network"')
    expect(await accessFaults(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test.each(['', '/access'])('axe finds nothing at the tab "%s", which fits a phone', async (tab) => {
    await openTab(page, server, 'kafka', tab)
    await page
      .getByRole('status', { name: /^Loading/ })
      .first()
      .waitFor({ state: 'detached' })

    const found = await accessFaults(page)
    await page.setViewportSize(PHONE)
    const overflow = await overflowOf(page)

    expect(found).toEqual([])
    expect(overflow).toBe(0)
    expect(faults).toEqual([])
  })
})
