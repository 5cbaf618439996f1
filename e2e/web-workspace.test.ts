import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { startReceiver } from '../server/src/testing/receiver.ts'
import { hasBrowser } from './browser.ts'
import { type RemoteWorkspace, remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, untilRunIs } from './run-progress.ts'
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

const CONFIGURATION = `
resource "terraform_data" "broker" {
  count = 30
  input = count.index
}
output "endpoint" { value = "kafka.example.com:9092" }
output "settings" { value = { zones = ["a", "b", "c"], items = [for i in range(30) : "item-\${i}"] } }
output "password" {
  value     = "correct horse battery staple"
  sensitive = true
}
`

let server: BootedServer
let page: Page
let faults: string[]
let kafka: RemoteWorkspace
beforeAll(async () => {
  if (!hasBrowser || !hasTerraform) return
  server = await bootWebServer()
  kafka = await remoteWorkspace(server, { name: 'kafka', configuration: CONFIGURATION })
  await remoteWorkspace(server, { name: 'network', configuration: 'output "vpc" { value = 1 }' })
  const run = await startRun(server, kafka, { message: 'Deploy the brokers' })
  await untilRunIs(server, async () => readRun(server, run), 'applied')
  page = await openAdminPage(server, '/app/main/workspaces/kafka')
  await page.getByRole('heading', { name: 'kafka', level: 1 }).waitFor()
  faults = watchFaults(page, ['/changes'])
})

/** Opens a tab of a workspace. */
async function open(own: Page, tab = '', workspace = 'kafka') {
  await own.goto(`${server.url}/app/main/workspaces/${workspace}${tab}`)
  await own.getByRole('heading', { name: workspace, level: 1 }).waitFor()
}

function button(own: Page, name: string) {
  return own.getByRole('button', { name, exact: true })
}

function region(own: Page, name: string) {
  return own.getByRole('region', { name, exact: true })
}

async function settings() {
  return (await server.api('GET', `/workspaces/${kafka.id}`)).data.attributes
}

describe.skipIf(!hasBrowser || !hasTerraform)('the page of a workspace', () => {
  test('shows the latest run, finds resources, and shows a sensitive output on demand alone', async () => {
    await open(page)

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

  test('a lock tells everybody who holds it and why, and who may takes it away after a warning', async () => {
    await createMember(server, 'ada', { workspaceId: kafka.id, access: 'admin' })

    await open(page)
    await button(page, 'Lock').click()
    await page.getByLabel('Reason').fill('maintenance')
    await button(page, 'Lock the workspace').click()
    await button(page, 'Unlock').waitFor()
    const ada = await openPageOf(server, 'ada', '/app/main/workspaces/kafka')
    const adasFaults = watchFaults(ada, ['/changes'])
    await ada.getByText('Locked by admin').waitFor()
    const reason = await button(ada, 'Unlock').getAttribute('data-tooltip')
    await button(ada, 'Unlock').click({ force: true })
    const isStillLocked = (await settings()).locked
    await button(ada, 'Force unlock').click()
    await ada.getByText('Take the lock of kafka from admin?').waitFor()
    await ada.getByRole('group').getByRole('button', { name: 'Force unlock' }).click()
    await button(ada, 'Lock').waitFor()

    expect(reason).toMatch(/^locked by admin since \d\d:\d\d: maintenance$/)
    expect(isStillLocked).toBe(true)
    expect((await settings()).locked).toBe(false)
    expect([...faults, ...adasFaults]).toEqual([])
  })

  test('settings are kept, and a value that is refused says why at its field', async () => {
    const expected = watchFaults(page, [/^422 PATCH/, '/changes'])

    await open(page, '/settings')
    const execution = region(page, 'Execution')
    const idle = await execution.getByRole('button', { name: 'Save' }).getAttribute('data-tooltip')
    await execution.getByLabel('Engine version').fill('newest')
    await execution.getByLabel('Apply without approval').check()
    await execution.getByRole('button', { name: 'Save' }).click()
    const refusal = execution.getByRole('alert')
    await refusal.waitFor()
    const told = await refusal.textContent()
    const described = await execution.getByLabel('Engine version').getAttribute('aria-invalid')
    await execution.getByLabel('Engine version').fill('~> 1.11')
    await execution.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The settings are saved').first().waitFor()
    await page.reload()

    expect(idle).toBe('nothing has been changed')
    expect(told).toContain('"newest" is no version')
    expect(described).toBe('true')
    expect(await execution.getByLabel('Engine version').inputValue()).toBe('~> 1.11')
    expect(await execution.getByLabel('Apply without approval').isChecked()).toBe(true)
    expect(await settings()).toMatchObject({ 'engine-version': '~> 1.11', 'auto-apply': true })
    expect(expected).toEqual([])
    faults.length = 0
  })

  test('a new name leads the address along, and a tag has a value', async () => {
    await remoteWorkspace(server, { name: 'before', configuration: '' })

    await open(page, '/settings', 'before')
    const general = region(page, 'General')
    await general.getByLabel('Name').fill('after')
    await general.getByRole('button', { name: 'Save' }).click()
    await page.waitForURL('**/workspaces/after/settings')
    await page.getByRole('heading', { name: 'after', level: 1 }).waitFor()
    const tags = region(page, 'Tags')
    await tags.getByRole('button', { name: 'Add a tag' }).click()
    await tags.getByLabel('Key of tag 1').fill('env')
    await tags.getByLabel('Value of tag 1').fill('prod')
    await tags.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The tags are saved').first().waitFor()
    await open(page, '', 'after')
    await page.getByText('env: prod').waitFor()

    expect(faults).toEqual([])
  })

  test('a run task is attached to a stage, and detached', async () => {
    const receiver = await startReceiver()

    await open(page, '/tasks')
    await button(page, 'New run task').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('scan')
    await dialog.getByLabel('URL').fill(receiver.url)
    await dialog.getByRole('button', { name: 'Create the run task' }).click()
    const form = region(page, 'Attach a task')
    await form.getByLabel('Pre-apply').check()
    await form.getByLabel('Mandatory').check()
    await form.getByRole('button', { name: 'Attach the task' }).click()
    const attached = region(page, 'Attached to this workspace')
    await attached.getByText('Post-plan, Pre-apply · mandatory: a failure stops the run').waitFor()
    const stage = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'Pre-apply' }) })
    const asked = await stage.getByRole('listitem').textContent()
    await attached.getByRole('button', { name: 'Detach', exact: true }).click()
    await attached.getByRole('button', { name: 'Detach scan' }).click()
    await page.getByRole('heading', { name: 'No task is asked here' }).waitFor()

    expect(asked).toBe('scanstops')
    expect((await server.api('GET', `/workspaces/${kafka.id}/tasks`)).data).toEqual([])
    expect(faults).toEqual([])
  })

  test('a run trigger is added by the name of its source, and removed', async () => {
    await open(page, '/triggers')
    await page.getByRole('button', { name: 'Add a source' }).click()
    await page.getByPlaceholder('Name of a workspace').fill('netw')
    await page.getByRole('option', { name: 'network' }).click()
    const inbound = region(page, 'Starts runs here')
    await inbound.getByRole('link', { name: 'network' }).waitFor()
    await page.getByLabel('Only when outputs have changed').check()
    await button(page, 'Save').click()
    await page.getByText('The settings are saved').first().waitFor()
    const kept = (await settings())['trigger-only-on-output-change']
    await inbound.getByRole('button', { name: 'Remove', exact: true }).click()
    await button(page, 'Remove the trigger').click()
    await page.getByRole('heading', { name: 'No trigger leads here or on from here' }).waitFor()

    expect(kept).toBe(true)
    expect(faults).toEqual([])
  })

  test('a reader sees the values of settings and no way to change anything', async () => {
    await createMember(server, 'rita', { workspaceId: kafka.id, access: 'read' })

    const rita = await openPageOf(server, 'rita', '/app/main/workspaces/kafka/settings')
    const ritasFaults = watchFaults(rita, ['/changes'])
    await rita.getByText('You see these settings').waitFor()
    await rita.getByText('the root of the configuration').waitFor()
    const fields = await rita.locator('main').getByRole('textbox').count()
    const actions = await rita
      .locator('main')
      .getByRole('button', { name: /Lock|Start|Save|Delete|Attach|Add|Remove/ })
      .count()
    await rita.getByRole('link', { name: 'Access' }).first().click()
    await rita.getByText('You may see runs, see variables, see outputs, and see states.').waitFor()
    const tabs = await rita
      .getByRole('navigation', { name: 'Parts of the workspace' })
      .getByRole('link')
      .allTextContents()

    expect(fields).toBe(0)
    expect(actions).toBe(0)
    expect(tabs).toEqual(['Overview', 'Runs', 'States', 'Variables', 'Tasks', 'Triggers', 'Access', 'Settings'])
    expect(ritasFaults).toEqual([])
  })

  test('a team gets access part by part, and loses it', async () => {
    await server.api('POST', '/organizations/main/teams', {
      data: { type: 'teams', attributes: { name: 'auditors' } },
    })

    await open(page, '/access')
    await page.getByRole('button', { name: 'Add a team' }).click()
    await page.getByRole('option', { name: 'auditors' }).click()
    await page.getByLabel('Custom').check()
    await page.getByLabel('States', { exact: true }).selectOption('read-outputs')
    await button(page, 'Add auditors').click()
    const teams = region(page, 'Teams of this workspace')
    await teams.getByText('Sees runs, sees outputs.').waitFor()
    const row = teams.getByRole('listitem').filter({ hasText: 'auditors' })
    await row.getByRole('button', { name: 'Remove', exact: true }).click()
    await row.getByRole('button', { name: 'Remove auditors' }).click()
    await teams.getByText('auditors').waitFor({ state: 'detached' })

    expect(faults).toEqual([])
  })

  test('a workspace is deleted when its name has been typed, and says what it leaves behind', async () => {
    await open(page, '/settings')
    await button(page, 'Delete it and leave the resources').click()
    await page.getByText('30 resources stay as they are').waitFor()
    await button(page, 'Keep it as it is').click()
    await open(page, '/settings', 'after')
    await button(page, 'Delete the workspace').click()
    const act = button(page, 'Delete after')
    const untyped = await act.getAttribute('data-tooltip')
    await page.getByLabel('Type after to confirm').fill('after')
    await act.click()
    await page.waitForURL('**/app/main/workspaces')

    await server.api('GET', '/organizations/main/workspaces/after', undefined, { expect: 404 })
    expect(untyped).toBe('type after first')
    expect(faults).toEqual([])
  })

  test('a workspace that is not there is a page of its own', async () => {
    await page.goto(`${server.url}/app/main/workspaces/nowhere`)
    await page.getByRole('heading', { name: 'There is no such workspace' }).waitFor()
    faults.length = 0
  })

  test.each(['', '/tasks', '/triggers', '/access', '/settings'])(
    'axe finds nothing at the tab "%s", which fits a phone',
    async (tab) => {
      await open(page, tab)
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
    },
  )

  test('a workspace without runs teaches the first steps', async () => {
    await open(page, '', 'network')

    await page.getByRole('heading', { name: 'No runs yet' }).waitFor()
    expect(await page.getByRole('region', { name: 'the cloud block' }).textContent()).toContain('name = "network"')
    expect(await accessFaults(page)).toEqual([])
    expect(faults).toEqual([])
  })
})
