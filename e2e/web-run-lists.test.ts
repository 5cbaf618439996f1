import { describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, untilRunIs } from './run-progress.ts'
import { hasTerraform } from './terraform.ts'
import { accessFaults, bootWebServer, openAdminPage, overflowOf, PHONE, watchFaults } from './web-page.ts'

/** Two resources, of which one has a variable. */
const CONFIGURATION = `variable "size" {
  default = "s"
}
resource "terraform_data" "node" {
  input = var.size
}
resource "terraform_data" "table" {
  input = 1
}
`

describe.skipIf(!hasBrowser || !hasTerraform)('the lists of runs', async () => {
  if (!hasBrowser || !hasTerraform) return
  const server = await bootWebServer()
  const page = await openAdminPage(server, '/app/main/runs')
  await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
  const faults = watchFaults(page)
  const open = async (path: string) => page.goto(`${server.url}${path}`)

  test('a run is created with a variable and a target, and its page opens', async () => {
    const workspace = await remoteWorkspace(server, { name: 'started', configuration: CONFIGURATION })
    const first = await startRun(server, workspace)
    await untilRunIs(server, async () => readRun(server, first), 'applied')

    await open('/app/main/workspaces/started?start=true')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Message').fill('A bigger node')
    await dialog.getByText('Options').click()
    await dialog.getByRole('button', { name: 'Add target' }).click()
    await page.getByRole('option', { name: 'terraform_data.node' }).click()
    await dialog.getByRole('button', { name: 'Add variable' }).click()
    await dialog.getByLabel('Variable name').fill('size')
    await dialog.getByLabel('Value of size').fill('large')
    await dialog.getByRole('button', { name: 'Create run' }).click()
    const refusal = await dialog.getByRole('alert').textContent()
    const dialogFaults = await accessFaults(page)
    await dialog.getByLabel('Value of size').fill('"large"')
    await dialog.getByRole('button', { name: 'Create run' }).click()
    await page.waitForURL(/\/workspaces\/started\/runs\/run-/)
    const [, id = ''] = /\/runs\/(run-\w+)/.exec(page.url()) ?? []
    const { attributes } = await readRun(server, id)

    expect(refusal).toContain('"large"')
    expect(dialogFaults).toEqual([])
    expect(attributes).toMatchObject({
      message: 'A bigger node',
      source: 'tfe-ui',
      'target-addrs': ['terraform_data.node'],
      variables: [{ key: 'size', value: '"large"' }],
    })
  })

  test('a destroy run lists what it destroys, is never auto-applied and is marked in lists', async () => {
    const workspace = await remoteWorkspace(server, {
      name: 'doomed',
      configuration: CONFIGURATION,
      attributes: { 'auto-apply': true },
    })
    const first = await startRun(server, workspace)
    await untilRunIs(server, async () => readRun(server, first), 'applied')

    await open('/app/main/workspaces/doomed?start=true')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Destroy').check()
    const warning = await dialog.getByText('This run plans to destroy').textContent()
    await dialog.getByLabel('Message').fill('Away with it')
    await dialog.getByRole('button', { name: 'Plan destroy' }).click()
    await page.waitForURL(/\/workspaces\/doomed\/runs\/run-/)
    const [, id = ''] = /\/runs\/(run-\w+)/.exec(page.url()) ?? []
    await untilRunIs(server, async () => readRun(server, id), 'planned')
    await open('/app/main/runs?operation=destroy')
    const row = page.getByRole('row').filter({ hasText: 'Away with it' })
    await row.getByText('needs approval').waitFor()

    expect(warning).toContain('all 2 resources in doomed')
    expect(await row.getByText('destroy', { exact: true }).count()).toBe(1)
    expect(await row.textContent()).toContain('2 to destroy')
  })

  test('a workspace without a configuration explains how to upload one', async () => {
    await server.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name: 'bare' } },
    })

    await open('/app/main/workspaces/bare/runs?start=true')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('this workspace has none yet').waitFor()

    expect(await dialog.getByRole('button', { name: 'Create run' }).count()).toBe(0)
    expect(await dialog.getByRole('region', { name: 'the cloud block' }).textContent()).toContain('name = "bare"')
  })

  test('a locked workspace shows whom a run waits for, and so does the list', async () => {
    const workspace = await remoteWorkspace(server, { name: 'held', configuration: CONFIGURATION })
    await server.api('POST', `/workspaces/${workspace.id}/actions/lock`, { reason: 'maintenance' })

    await open('/app/main/workspaces/held/runs?start=true')
    await page.getByText(/The run will wait: the workspace is locked by admin since .*: maintenance/).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Create run' }).click()
    await page.waitForURL(/\/runs\/run-/)
    await open('/app/main/workspaces/held/runs')
    const row = page.getByRole('row').filter({ hasText: 'Triggered via UI' })
    await row.getByText('locked by user admin').waitFor()

    expect(await row.textContent()).not.toContain('in queue')
  })

  test('a run that another user starts appears automatically, and so does its state', async () => {
    const workspace = await remoteWorkspace(server, { name: 'watched', configuration: CONFIGURATION })
    await open('/app/main/runs')
    await page.getByRole('table').waitFor()

    await startRun(server, workspace, { message: 'By another hand', 'auto-apply': false })
    const row = page.getByRole('row').filter({ hasText: 'By another hand' })
    await row.getByText('needs approval').waitFor()

    expect(await row.textContent()).toContain('2 to create')
  })

  test('plans are discarded and queued runs canceled together, with everything that matches the filter', async () => {
    const statusesOf = async (group: string) => {
      const { data } = await server.api('GET', `/organizations/main/runs?filter[status_group]=${group}`)
      return data.length as number
    }
    const planned = await statusesOf('needs_approval')

    await open('/app/main/runs?status=needs_approval,waiting')
    await page.getByLabel('Select all on this page').check()
    const bar = page.getByRole('region', { name: 'Selected runs' })
    await bar.getByRole('button', { name: 'Discard' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('no plan to decide on yet: cancel it instead').waitFor()
    const found = await accessFaults(page)
    await dialog.getByRole('button', { name: /^Discard: \d+ run/ }).click()
    await dialog.getByText(`${planned} runs discarded`).waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('row').filter({ hasText: 'needs approval' }).first().waitFor({ state: 'detached' })
    await page.getByLabel('Select all on this page').check()
    await bar.getByRole('button', { name: 'Cancel', exact: true }).click()
    await dialog.getByRole('button', { name: /^Cancel: 1 run/ }).click()
    await dialog.getByText('1 run canceled').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()

    expect(planned).toBeGreaterThan(1)
    expect(found).toEqual([])
    await expect.poll(async () => statusesOf('needs_approval,waiting')).toBe(0)
    expect(faults).toEqual([])
  })

  test('the URL holds search and filters of runs, and the list fits on a phone', async () => {
    await open('/app/main/runs')
    await page.getByRole('link', { name: 'Away with it' }).waitFor()
    const listFaults = await accessFaults(page)
    await page.getByRole('searchbox').fill('bigger node')
    await page.getByRole('link', { name: 'Away with it' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Source' }).click()
    await page.getByRole('option', { name: 'API', exact: true }).click()
    await page.getByRole('heading', { name: 'No runs match' }).waitFor()
    const address = Object.fromEntries(new URL(page.url()).searchParams)
    await page.goBack()
    await page.getByRole('link', { name: 'A bigger node' }).waitFor()
    await page.setViewportSize(PHONE)

    expect(listFaults).toEqual([])
    expect(address).toEqual({ q: 'bigger node', source: 'api' })
    expect(await overflowOf(page)).toBe(0)
    expect(faults).toEqual([])
  })
})
