import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { startReceiver } from '../server/src/testing/receiver.ts'
import { hasBrowser } from './browser.ts'
import { remoteWorkspace, type RemoteWorkspace } from './remote-workspaces.ts'
import type { BootedServer } from './server.ts'
import { hasTerraform } from './terraform.ts'
import { accessFaults, bootWebServer, openAdminPage, overflowOf, PHONE, watchFaults } from './web-page.ts'
import { appliedWorkspace, button, openTab, region } from './workspace-page.ts'

const SECTIONS = ['tags', 'execution', 'sharing', 'retention', 'delete'].map((name) => `/settings/${name}`)

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
  faults = watchFaults(page)
})

async function settings() {
  return (await server.api('GET', `/workspaces/${kafka.id}`)).data.attributes
}

describe.skipIf(!hasBrowser || !hasTerraform)('the settings of a workspace', () => {
  test('settings are saved, and a rejected value has its error at the field', async () => {
    const expected = watchFaults(page, [/^422 PATCH/])

    await openTab(page, server, 'kafka', '/settings')
    await page.getByRole('navigation', { name: 'Workspace settings' }).getByRole('link', { name: 'Execution' }).click()
    const execution = region(page, 'Execution')
    const idle = await execution.getByRole('button', { name: 'Save' }).getAttribute('data-tooltip')
    await execution.getByLabel('Engine version').fill('newest')
    await execution.getByLabel('Auto-apply', { exact: true }).check()
    await execution.getByRole('button', { name: 'Save' }).click()
    const refusal = execution.getByRole('alert')
    await refusal.waitFor()
    const refusalText = await refusal.textContent()
    const described = await execution.getByLabel('Engine version').getAttribute('aria-invalid')
    await execution.getByLabel('Engine version').fill('~> 1.11')
    await execution.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Settings saved').first().waitFor()
    await page.reload()

    expect(idle).toBe('no changes to save')
    expect(refusalText).toContain('"newest" is not a version')
    expect(described).toBe('true')
    expect(await execution.getByLabel('Engine version').inputValue()).toBe('~> 1.11')
    expect(await execution.getByLabel('Auto-apply', { exact: true }).isChecked()).toBe(true)
    expect(await settings()).toMatchObject({ 'engine-version': '~> 1.11', 'auto-apply': true })
    expect(expected).toEqual([])
    faults.length = 0
  })

  test('unsaved settings are kept or discarded before another page opens', async () => {
    const sections = page.getByRole('navigation', { name: 'Workspace settings' })
    const question = page.getByRole('dialog', { name: 'Discard changes?' })

    await openTab(page, server, 'kafka', '/settings/tags')
    await sections.getByRole('link', { name: 'General' }).click()
    const description = region(page, 'General').getByLabel('Description')
    await description.fill('edited')
    await sections.getByRole('link', { name: 'Tags' }).click()
    await question.getByRole('button', { name: 'Keep editing' }).click()
    const kept = await description.inputValue()
    await page.goBack()
    await question.getByRole('button', { name: 'Keep editing' }).click()
    await page.waitForURL('**/workspaces/kafka/settings')
    await sections.getByRole('link', { name: 'Tags' }).click()
    await question.getByRole('button', { name: 'Discard changes' }).click()
    await region(page, 'Tags').waitFor()

    expect(kept).toBe('edited')
    expect((await settings()).description).not.toBe('edited')
  })

  test('a page that is opened during a save waits for it, without a question', async () => {
    await openTab(page, server, 'kafka', '/settings')
    const held = Promise.withResolvers<void>()
    const path = (url: URL) => url.pathname === `/api/v2/workspaces/${kafka.id}`
    await page.route(path, async (route) => {
      if (route.request().method() === 'PATCH') await held.promise
      await route.continue()
    })
    await page.getByLabel('Description').fill('Brokers of the order stream.')
    await button(page, 'Save').click()
    await page.getByRole('navigation', { name: 'Workspace settings' }).getByRole('link', { name: 'Tags' }).click()
    // By then, an answer to the click is drawn.
    await page.evaluate('new Promise((done) => requestIdleCallback(() => requestIdleCallback(done)))')
    const early = await region(page, 'Tags').count()
    const questions = await page.getByRole('dialog').count()
    held.resolve()
    await region(page, 'Tags').waitFor()
    await page.unroute(path)

    expect([early, questions]).toEqual([0, 0])
    expect((await settings()).description).toBe('Brokers of the order stream.')
  })

  test('renaming updates the URL, a tag has a value, and a flat tag can be removed', async () => {
    const { id } = await remoteWorkspace(server, { name: 'before', configuration: '' })
    const flat = ['gone', 'kept'].map((name) => ({ type: 'tags', attributes: { name } }))
    await server.api('POST', `/workspaces/${id}/relationships/tags`, { data: flat })

    await openTab(page, server, 'before', '/settings')
    const general = region(page, 'General')
    await general.getByLabel('Name').fill('after')
    await general.getByRole('button', { name: 'Save' }).click()
    await page.waitForURL('**/workspaces/after/settings')
    await page.getByRole('heading', { name: 'after', level: 1 }).waitFor()
    await openTab(page, server, 'after', '/settings/tags')
    const tags = region(page, 'Tags')
    await tags.getByRole('button', { name: 'Add tag' }).click()
    await tags.getByLabel('Key of tag 3').fill('env')
    await tags.getByLabel('Value of tag 3').fill('prod')
    await tags.getByRole('button', { name: 'Remove tag gone' }).click()
    await tags.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Tags saved').first().waitFor()
    await openTab(page, server, 'after')
    await page.getByText('env: prod').waitFor()

    expect((await server.api('GET', `/workspaces/${id}`)).data.attributes['tag-names']).toEqual(['kept'])
    expect(faults).toEqual([])
  })

  test('the state is shared with a workspace, and no longer', async () => {
    await openTab(page, server, 'kafka', '/settings/sharing')
    await button(page, 'Add workspace').click()
    await page.getByPlaceholder('Workspace name').fill('netw')
    await page.getByRole('option', { name: 'network' }).click()
    const readers = region(page, 'Selected workspaces')
    await readers.getByRole('link', { name: 'network' }).waitFor()
    const shared = await server.api('GET', `/workspaces/${kafka.id}/relationships/remote-state-consumers`)
    await readers.getByRole('button', { name: 'Stop sharing with network' }).click()
    await readers.getByText('No workspaces selected.').waitFor()

    expect(shared.data).toHaveLength(1)
    expect(await page.title()).toBe('kafka · state sharing · Groundstate')
    expect(faults).toEqual([])
  })

  test('a run task is attached to a stage, and detached', async () => {
    const receiver = await startReceiver()

    await openTab(page, server, 'kafka', '/tasks')
    await button(page, 'New run task').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('scan')
    await dialog.getByLabel('URL').fill(receiver.url)
    await dialog.getByRole('button', { name: 'Create run task' }).click()
    const form = region(page, 'Attach run task')
    await form.getByLabel('Pre-apply').check()
    await form.getByLabel('Mandatory').check()
    await form.getByRole('button', { name: 'Attach run task' }).click()
    const attached = region(page, 'Attached to this workspace')
    await attached.getByText('Post-plan, Pre-apply · mandatory: a failure stops the run').waitFor()
    const stage = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'Pre-apply' }) })
    const asked = await stage.getByRole('listitem').textContent()
    await attached.getByRole('button', { name: 'Actions for scan' }).click()
    await page.getByRole('menuitem', { name: 'Detach' }).click()
    await attached.getByRole('button', { name: 'Detach scan' }).click()
    await page.getByRole('heading', { name: 'No run tasks' }).waitFor()

    expect(asked).toBe('scanstops')
    expect((await server.api('GET', `/workspaces/${kafka.id}/tasks`)).data).toEqual([])
    expect(faults).toEqual([])
  })

  test('a run trigger is added by the name of its source, and removed', async () => {
    await openTab(page, server, 'kafka', '/triggers')
    await page.getByRole('button', { name: 'Add source workspace' }).click()
    await page.getByPlaceholder('Workspace name').fill('netw')
    await page.getByRole('option', { name: 'network' }).click()
    const inbound = region(page, 'Source workspaces')
    await inbound.getByRole('link', { name: 'network' }).waitFor()
    await page.getByLabel('Only when outputs have changed').check()
    await button(page, 'Save').click()
    await page.getByText('Settings saved').first().waitFor()
    const kept = (await settings())['trigger-only-on-output-change']
    await inbound.getByRole('button', { name: 'Actions for the trigger from network' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await button(page, 'Remove trigger').click()
    await page.getByRole('heading', { name: 'No run triggers' }).waitFor()

    expect(kept).toBe(true)
    expect(faults).toEqual([])
  })

  test('a team is granted custom access, and loses it', async () => {
    await server.api('POST', '/organizations/main/teams', {
      data: { type: 'teams', attributes: { name: 'auditors' } },
    })

    await openTab(page, server, 'kafka', '/access')
    await page.getByRole('button', { name: 'Add team' }).click()
    await page.getByRole('option', { name: 'auditors' }).click()
    await page.getByLabel('Custom').check()
    await page.getByLabel('States', { exact: true }).selectOption('read-outputs')
    await button(page, 'Add auditors').click()
    const teams = region(page, 'Teams with access')
    await teams.getByText('Sees runs, sees outputs.').waitFor()
    const row = teams.getByRole('listitem').filter({ hasText: 'auditors' })
    await row.getByRole('button', { name: 'Actions for auditors' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await row.getByRole('button', { name: 'Remove auditors' }).click()
    await row.waitFor({ state: 'detached' })

    expect(faults).toEqual([])
  })

  test('a workspace is deleted after typing its name, and the dialog lists remaining resources', async () => {
    await openTab(page, server, 'kafka', '/settings/delete')
    await button(page, 'Force-delete workspace').click()
    await page.getByText('30 resources will continue to exist').waitFor()
    await button(page, 'Cancel').click()
    await openTab(page, server, 'after', '/settings/delete')
    await button(page, 'Delete workspace').click()
    const act = button(page, 'Delete after')
    const untyped = await act.getAttribute('data-tooltip')
    await page.getByLabel('Type after to confirm').fill('after')
    await act.click()
    await page.waitForURL('**/app/main/workspaces')

    await server.api('GET', '/organizations/main/workspaces/after', undefined, { expect: 404 })
    expect(untyped).toBe('type after first')
    expect(faults).toEqual([])
  })

  test.each(['', '/runs', '/states', '/variables', '/tasks', '/triggers', '/access', '/settings', ...SECTIONS])(
    'the curl command of the tab "%s" reads what it shows',
    async (tab) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await openTab(page, server, 'kafka', tab)

      await button(page, 'Copy as curl').last().click()
      await page.getByText('Copied. Set GROUNDSTATE_TOKEN').first().waitFor()

      const command = await page.evaluate<string>('navigator.clipboard.readText()')
      const path = /'.*\/api\/v2(\/.+)'$/.exec(command)?.[1] ?? ''
      expect(path).toContain(tab === '/states' ? 'kafka' : kafka.id)
      await server.api('GET', path)
    },
  )

  test.each(['/tasks', '/triggers', '/settings', ...SECTIONS])(
    'axe finds no violations on the tab "%s", which fits a phone',
    async (tab) => {
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
    },
  )
})
