import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { EXAMPLE_CODE, EXAMPLE_DEFINITION } from '../web/src/features/policies/example.ts'
import { hasBrowser } from './browser.ts'
import type { BootedServer } from './server.ts'
import { bootWebServer, createMember, layoutFaults, openAdminPage, openPageOf, watchFaults } from './web-page.ts'
import { button } from './workspace-page.ts'

let server: BootedServer
let page: Page
let faults: string[]

beforeAll(async () => {
  if (!hasBrowser) return
  server = await bootWebServer()
  page = await openAdminPage(server, '/app/main/policies')
  faults = watchFaults(page, ['422 '])
})

const heading = async (name: string, level?: number) =>
  page.getByRole('heading', { name, ...(level !== undefined && { level }) }).waitFor()
const tab = async (name: string) =>
  page.getByRole('navigation', { name: 'Policy set' }).getByRole('link', { name }).click()

describe.skipIf(!hasBrowser)('policies of an organization', () => {
  test('the first set is created from the empty page, and a version uploaded', async () => {
    await heading('No policy sets yet')
    const empty = await layoutFaults(page)
    await button(page, 'New policy set').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('security')
    await dialog.getByLabel('All workspaces').check()
    await dialog.getByRole('button', { name: 'Create policy set' }).click()
    await heading('security', 1)
    await heading('Upload a version')
    const directory = await mkdtemp(join(tmpdir(), 'policies-'))
    await writeFile(join(directory, 'policies.hcl'), EXAMPLE_DEFINITION)
    await page.getByLabel('Archive or files').setInputFiles(join(directory, 'policies.hcl'))
    await button(page, 'Upload version').click()
    const refusal = await page.getByRole('alert').first().textContent()
    await writeFile(join(directory, 'no_public_buckets.rego'), EXAMPLE_CODE)
    await page
      .getByLabel('Archive or files')
      .setInputFiles([join(directory, 'policies.hcl'), join(directory, 'no_public_buckets.rego')])
    await button(page, 'Upload version').click()
    const versions = page.getByRole('table', { name: 'Versions of security' })
    await versions.getByText('in use').waitFor()
    await versions.getByText('by admin').first().waitFor()
    await rm(directory, { recursive: true })
    const uploaded = await layoutFaults(page)
    await tab('Policies')
    await page.getByRole('cell', { name: /no-public-buckets/ }).waitFor()

    expect(empty).toEqual([])
    expect(refusal).toMatch(/rego/i)
    expect(uploaded).toEqual([])
    expect(await layoutFaults(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test('parameters, the scope and the settings of a set are changed', async () => {
    await tab('Parameters')
    await button(page, 'Add parameter').click()
    await page.getByLabel('Key').fill('limit')
    await page.getByLabel('Value').fill('5')
    await button(page, 'Save parameter').click()
    await page.getByRole('cell', { name: 'limit', exact: true }).waitFor()
    const parameters = await layoutFaults(page)
    await tab('Scope')
    await page.getByRole('textbox', { name: 'Tag', exact: true }).fill('env')
    await button(page, 'Add tag').click()
    await page.getByRole('list', { name: 'Tags' }).getByText('env').waitFor()
    const scope = await layoutFaults(page)
    await tab('Settings')
    await page.getByLabel('Description').fill('Rules of the security team')
    await button(page, 'Save').click()
    await page.getByText('Settings saved').first().waitFor()

    const [set] = (await server.api('GET', '/organizations/main/policy-sets')).data
    expect(set.attributes).toMatchObject({
      description: 'Rules of the security team',
      global: true,
      'tag-selectors': [{ 'tag-key': 'env', 'tag-value': null, 'is-exclude': true }],
    })
    expect([...parameters, ...scope, ...(await layoutFaults(page))]).toEqual([])
    expect(faults).toEqual([])
  })

  test('a workspace names the sets that select it, and why they apply or not', async () => {
    const id = (await server.api('GET', '/organizations/main/policy-sets')).data[0].id
    const workspace = { type: 'workspaces', attributes: { name: 'ledger' } }
    const ledger = (await server.api('POST', '/organizations/main/workspaces', { data: workspace })).data
    await page.goto(`${server.url}/app/main/workspaces/ledger/settings/policies`)
    const row = page.getByRole('table', { name: 'Policy sets of ledger' }).getByRole('row', { name: /security/ })
    await row.getByText('applies').waitFor()
    await row.getByText('all workspaces', { exact: true }).waitFor()
    const applied = await layoutFaults(page)
    const tag = { type: 'tag-bindings', attributes: { key: 'env', value: 'prod' } }
    await server.api('PATCH', `/workspaces/${ledger.id}/tag-bindings`, { data: [tag] })
    await row.getByText('excluded', { exact: true }).waitFor()
    const excluded = await layoutFaults(page)
    await row.getByRole('link', { name: 'security' }).click()
    await heading('security', 1)

    expect(page.url()).toContain(`/policy-sets/${id}`)
    expect([...applied, ...excluded]).toEqual([])
    expect(faults).toEqual([])
  })

  test('a single policy is written, changed and deleted', async () => {
    await page.goto(`${server.url}/app/main/policies?tab=policies`)
    await button(page, 'New policy').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('buckets')
    await dialog.getByRole('button', { name: 'Create policy' }).click()
    await heading('buckets', 1)
    await page.getByRole('textbox', { name: 'Code (Rego)' }).fill(`# changed\n${EXAMPLE_CODE}`)
    await page.getByRole('region', { name: 'Code' }).getByRole('button', { name: 'Save' }).click()
    await page.getByText('Code saved').first().waitFor()
    const open = await layoutFaults(page)
    await button(page, 'Delete policy').click()
    await button(page, 'Delete buckets').click()
    await heading('No single policies yet')

    expect(open).toEqual([])
    expect(faults).toEqual([])
  })

  test('members without the permission read sets, and change nothing', async () => {
    await createMember(server, 'reader', {})
    const reader = await openPageOf(server, 'reader', '/app/main/policies')
    await reader.getByRole('link', { name: 'security' }).click()
    await reader.getByRole('heading', { name: 'security', level: 1 }).waitFor()
    await reader.getByRole('navigation', { name: 'Policy set' }).getByRole('link', { name: 'Settings' }).click()
    await reader.getByText('OPA version').waitFor()

    expect(await reader.getByRole('button', { name: 'Save' }).count()).toBe(0)
    expect(await reader.getByRole('button', { name: 'Delete policy set' }).count()).toBe(0)
  })
})
