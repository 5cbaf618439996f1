import { describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { remoteWorkspace } from './remote-workspaces.ts'
import { latestRun, logOf, untilRunIs } from './run-progress.ts'
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
variable "secret" {
  type      = string
  sensitive = true
  default   = ""
}
variable "zones" {
  type    = list(string)
  default = []
}
output "length" { value = nonsensitive(length(var.secret)) }
output "zones" { value = join("+", var.zones) }
`

describe.skipIf(!hasBrowser || !hasTerraform)('the variables of a workspace', async () => {
  if (!hasBrowser || !hasTerraform) return
  const server = await bootWebServer()
  const workspace = await remoteWorkspace(server, { name: 'shop', configuration: CONFIGURATION })
  const page = await openAdminPage(server, '/app/main/workspaces/shop/variables')
  const faults = watchFaults(page)
  const open = async (name = 'shop') => page.goto(`${server.url}/app/main/workspaces/${name}/variables`)
  const row = (key: string) => page.getByRole('listitem').filter({ has: page.getByText(key, { exact: true }) })

  test('a sensitive variable is saved, never shown again, and used by the next run', async () => {
    const bodies: string[] = []
    page.on('response', (response) => {
      if (response.request().method() !== 'PATCH')
        void response.text().then(
          (text) => bodies.push(text),
          () => {},
        )
    })

    await page.getByRole('button', { name: 'Add variable' }).click()
    await page.getByLabel('Name').fill('secret')
    await page.getByLabel('Value').fill('swordfish-99')
    await page.getByLabel('Sensitive').check()
    await page.getByRole('button', { name: 'Save variable' }).click()
    await row('secret').getByText('write-only').waitFor()
    await page.reload()
    await row('secret').waitFor()
    const shown = await page.content()
    await server.api('POST', '/runs', {
      data: {
        type: 'runs',
        attributes: { 'auto-apply': true },
        relationships: { workspace: { data: { type: 'workspaces', id: workspace.id } } },
      },
    })
    const run = await untilRunIs(server, async () => latestRun(server, workspace.id), 'applied')

    expect(shown).not.toContain('swordfish')
    expect(bodies.length).toBeGreaterThan(3)
    expect(bodies.filter((text) => text.includes('swordfish'))).toEqual([])
    expect(await logOf(server, run.id, 'apply')).toContain('length = 12')
  })

  test('invalid HCL is reported at its field and not sent; corrected, it is saved', async () => {
    await open()
    await page.getByRole('button', { name: 'Add variable' }).click()
    const form = page.getByRole('form', { name: 'New variable' })
    await form.getByLabel('Name').fill('zones')
    await form.getByLabel('HCL').check()
    await form.getByRole('textbox', { name: 'Value' }).fill('["a", eu-west]')
    await form.getByRole('button', { name: 'Save variable' }).click()
    const refusal = await form.getByRole('alert').textContent()
    const sent = await server.api('GET', `/workspaces/${workspace.id}/vars`)
    await form.getByRole('textbox', { name: 'Value' }).fill('["a", "eu-west"]')
    await form.getByRole('button', { name: 'Save variable' }).click()
    await row('zones').getByText('"eu-west"').waitFor()

    expect(refusal).toContain('"eu-west"')
    expect(sent.data).toHaveLength(1)
  })

  test('variables of a set are shown, with those that override them', async () => {
    const set = async (name: string, priority: boolean, vars: object[]) =>
      server.api('POST', '/organizations/main/varsets', {
        data: {
          type: 'varsets',
          attributes: { name, global: true, priority },
          relationships: { vars: { data: vars.map((attributes) => ({ type: 'vars', attributes })) } },
        },
      })
    await set('defaults', false, [{ key: 'zones', value: '[]', hcl: true, category: 'terraform' }])
    await set('enforced', true, [{ key: 'AWS_REGION', value: 'eu-central-1', category: 'env' }])
    await server.api('POST', `/workspaces/${workspace.id}/vars`, {
      data: { type: 'vars', attributes: { key: 'AWS_REGION', value: 'eu-west-1', category: 'env' } },
    })

    await open()

    await row('zones').filter({ hasText: 'set defaults' }).getByText('Overridden by the workspace variable').waitFor()
    await row('AWS_REGION')
      .filter({ hasText: 'eu-west-1' })
      .getByText('Overridden by variable set “enforced”')
      .waitFor()
    await row('AWS_REGION').filter({ hasText: 'eu-central-1' }).getByText('Overrides the workspace variable').waitFor()
    expect(await accessFaults(page)).toEqual([])
  })

  test('imported lines are previewed, selected and saved; invalid ones are reported', async () => {
    await server.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name: 'pasted' } },
    })
    await open('pasted')
    await page.getByRole('button', { name: 'Import' }).click()
    const dialog = page.getByRole('dialog')
    await dialog
      .getByLabel('Paste or drop')
      .fill('region = "eu"\ncount = 3\ndb_password = "hunter2"\ntags = {\n  a = 1\n}\nbroken = var.x\n')
    await dialog.getByRole('button', { name: 'Preview' }).click()
    const fault = await dialog.getByText('line 7').textContent()
    const password = dialog.getByRole('row').filter({ hasText: 'db_password' })
    const isSecret = await password.getByLabel('is sensitive').isChecked()
    await dialog.getByRole('row').filter({ hasText: 'count' }).getByRole('checkbox').first().uncheck()
    const access = await accessFaults(page)
    await dialog.getByRole('button', { name: 'Save 3 variables' }).click()
    await dialog.getByText('saved').nth(2).waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await row('tags').getByText('HCL').waitFor()
    const { data } = await server
      .api('GET', '/organizations/main/workspaces/pasted')
      .then(async ({ data: { id } }) => server.api('GET', `/workspaces/${id}/vars`))

    expect(fault).toContain('var.x')
    expect(isSecret).toBe(true)
    expect(access).toEqual([])
    expect(data.map(({ attributes: { key, value, hcl, sensitive } }: any) => ({ key, value, hcl, sensitive }))).toEqual(
      expect.arrayContaining([
        { key: 'region', value: 'eu', hcl: false, sensitive: false },
        { key: 'db_password', value: null, hcl: false, sensitive: true },
        { key: 'tags', value: '{\n  a = 1\n}', hcl: true, sensitive: false },
      ]),
    )
    expect(data).toHaveLength(3)
  })

  test('variables are copied from another workspace; sensitive ones need a value', async () => {
    await server.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name: 'copied' } },
    })
    await open('copied')
    await page.getByRole('button', { name: 'Import' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'pasted' }).click()
    const isChosen = await dialog
      .getByRole('row')
      .filter({ hasText: 'db_password' })
      .getByRole('checkbox')
      .first()
      .isChecked()
    await dialog.getByRole('button', { name: 'Save 2 variables' }).click()
    await dialog.waitFor({ state: 'detached' })
    await row('region').getByText('eu', { exact: true }).waitFor()

    expect(isChosen).toBe(false)
  })

  test('a variable is edited in place, and deleted after a confirmation', async () => {
    await open('copied')
    await page.getByRole('button', { name: 'Actions for region' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    const form = page.getByRole('form', { name: 'Edit region' })
    await form.getByLabel('Value').fill('us')
    await page.keyboard.press('Escape')
    await form.getByText('unsaved changes').waitFor()
    await form.getByRole('button', { name: 'Save variable' }).click()
    await row('region').getByText('us', { exact: true }).waitFor()
    await row('region').locator('button:focus').waitFor()
    await page.setViewportSize(PHONE)
    const overflow = await overflowOf(page)
    await row('region').getByRole('button', { name: 'Actions for region' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await row('region').getByRole('button', { name: 'Delete region' }).click()
    await row('region').waitFor({ state: 'detached' })

    expect(overflow).toBe(0)
    expect(faults).toEqual([])
  })

  test('a reader sees values and no buttons, and the page follows changes by others', async () => {
    await createMember(server, 'reader', { workspaceId: workspace.id, access: 'read' })
    const own = await openPageOf(server, 'reader', '/app/main/workspaces/shop/variables')
    await own.getByText('eu-west-1').waitFor()
    const buttons = await own.getByRole('button', { name: /Add variable|Actions/ }).count()

    await server.api('POST', `/workspaces/${workspace.id}/vars`, {
      data: { type: 'vars', attributes: { key: 'later', value: 'here', category: 'terraform' } },
    })
    await own.getByText('later').waitFor()

    expect(buttons).toBe(0)
  })
})
