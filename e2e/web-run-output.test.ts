import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { gatedProvisioner } from './gate.ts'
import { type RemoteWorkspace, remoteWorkspace, startRun } from './remote-workspaces.ts'
import { latestRun, readRun, until, untilRunIs } from './run-progress.ts'
import { cloudBlock, hasTerraform, terraformDirectory } from './terraform.ts'
import { accessFaults, bootWebServer, openAdminPage, overflowOf, PHONE, watchFaults } from './web-page.ts'

/** Four lines of text, a secret, two resources and a replacement trigger. */
function configuration({ secret = 'the first secret', env = 'test', line = 'two', trigger = 1, count = 2 } = {}) {
  return `
variable "secret" {
  default   = "${secret}"
  sensitive = true
}
resource "terraform_data" "changed" {
  input = { env = "${env}", text = "one\\n${line}\\nthree", same = "stays", zones = ["a", "b"] }
}
resource "terraform_data" "replaced" {
  triggers_replace = [${trigger}]
}
resource "terraform_data" "counted" {
  count = ${count}
}
resource "terraform_data" "hidden" {
  input = { password = var.secret }
}
output "env" {
  value = "${env}"
}
`
}
const LATER = { secret: 'the second secret', env: 'prod', line: '2', trigger: 2, count: 1 }

/** A configuration whose precondition fails. */
const REFUSED = `
variable "size" {
  default = "tiny"
}
resource "terraform_data" "box" {
  lifecycle {
    precondition {
      condition     = length(var.size) > 10
      error_message = "The size \${var.size} is too short."
    }
  }
}
`

describe.skipIf(!hasBrowser || !hasTerraform)('the output of a run', async () => {
  if (!hasBrowser || !hasTerraform) return
  const server = await bootWebServer()
  const page = await openAdminPage(server, '/app/main/workspaces')
  const faults = watchFaults(page)

  async function open(workspace: string, run: string, search: string, on: Page = page) {
    await on.goto(`${server.url}/app/main/workspaces/${workspace}/runs/${run}${search}`)
  }
  async function finished(run: string, status: string) {
    await untilRunIs(server, async () => readRun(server, run), status)
    return run
  }
  /** The run of a `terraform plan` with a `cloud` block, whose output is structured. */
  async function planFromCommandLine({ id, name }: RemoteWorkspace, text: string) {
    const directory = await terraformDirectory(server, { 'main.tf': `${cloudBlock(name)}${text}` })
    await directory.ok(['init', '-input=false'])
    await directory.run(['plan', '-input=false'])
    return (await latestRun(server, id)).id as string
  }
  /** The rows of a table as the texts of their cells. */
  async function cells(label: string) {
    const rows = page.getByRole('table', { name: label }).locator('tbody tr')
    await rows.first().waitFor()
    const texts = await Promise.all((await rows.all()).map(async (row) => row.locator('th, td').allInnerTexts()))
    const tidy = texts.map((row) => row.map((cell) => cell.replaceAll(/\s+/g, ' ').trim()))
    return Object.fromEntries(tidy.map(([name = '', ...values]) => [name, values]))
  }

  test('a plan is a diff of attributes that marks sensitive, unknown and replacing values', async () => {
    const workspace = await remoteWorkspace(server, { name: 'diffed', configuration: configuration() })
    await finished(await startRun(server, workspace), 'applied')
    const run = await planFromCommandLine(workspace, configuration(LATER))

    await open('diffed', run, '?part=changes')
    const chips = page.getByRole('group', { name: 'Filter by action' })
    await chips.waitFor()
    const counts = await chips.innerText()
    await page.getByRole('button', { name: 'Expand all' }).click()
    const changed = await cells('Changes to terraform_data.changed')
    const replaced = await cells('Changes to terraform_data.replaced')
    const hidden = await cells('Changes to terraform_data.hidden')
    const outputs = await cells('Output changes')
    const text = await page.getByRole('main').innerText()
    const found = await accessFaults(page)
    await page.setViewportSize(PHONE)
    const overflow = await overflowOf(page)
    await page.setViewportSize({ width: 1440, height: 900 })

    expect(counts.replaceAll(/\s+/g, ' ')).toBe('create 0 update 2 replace 1 destroy 1')
    expect(changed['input.env']).toEqual(['− test', '+ prod'])
    expect(changed['input.text']).toEqual(['one − old: two + new: 2 three'])
    expect(changed).not.toHaveProperty('input.same')
    expect(replaced['triggers_replace[0] forces replacement']).toEqual(['− 1', '+ 2'])
    expect(replaced['id']?.[1]).toBe('+ known after apply')
    expect(hidden['input.password']).toEqual(['− sensitive', '+ sensitive'])
    expect(outputs['env']).toEqual(['− test', '+ prod'])
    expect(text).not.toMatch(/first secret|second secret/)
    expect(text).toContain('its index is out of range for count')
    expect(overflow).toBe(0)
    expect(found).toEqual([])

    // Filter and search are in the URL, so that it can be shared.
    await chips.getByRole('button', { name: 'destroy' }).click()
    await page.getByText('1 of 4 resources').waitFor()
    expect(new URL(page.url()).searchParams.get('only')).toBe('destroy')
    await page.reload()
    await page.getByText('1 of 4 resources').waitFor()
    await chips.getByRole('button', { name: 'destroy' }).click()
    await page.getByLabel('Search changes').fill('PROD')
    await page.getByText('1 of 4 resources').waitFor()
    await page.getByRole('button', { name: 'terraform_data.changed' }).waitFor()
  })

  test('an applied run shows values that the plan did not know, and links to the state', async () => {
    const workspace = await remoteWorkspace(server, {
      name: 'known',
      configuration: `
resource "terraform_data" "one" {}
output "id" {
  value = terraform_data.one.id
}
output "hidden" {
  value     = terraform_data.one.id
  sensitive = true
}
variable "token" {}
output "token" {
  value = [var.token]
}
`,
    })
    // The configuration does not declare it as sensitive.
    const token = { key: 'token', value: 'swordfish', category: 'terraform', sensitive: true }
    await server.api('POST', `/workspaces/${workspace.id}/vars`, { data: { type: 'vars', attributes: token } })
    const run = await startRun(server, workspace, { 'auto-apply': false })
    await until(async () => (await readRun(server, run)).attributes.actions['is-confirmable'])

    await open('known', run, '?part=changes')
    const planned = await cells('Output changes')
    await server.api('POST', `/runs/${run}/actions/apply`, {})
    const outputs = page.getByRole('table', { name: 'Output changes' })
    await outputs.getByText(/^[0-9a-f]{8}-[0-9a-f-]{27}$/).waitFor()
    const applied = await cells('Output changes')
    await page.getByRole('button', { name: 'Expand all' }).click()
    const resource = await cells('Changes to terraform_data.one')
    const text = await page.getByRole('main').innerText()
    const found = await accessFaults(page)
    await page.getByRole('link', { name: 'View state' }).click()
    await page.getByRole('heading', { name: /^Serial \d+$/, level: 2 }).waitFor()
    await page.goto(`${server.url}/app/main/workspaces/known`)
    await page.getByRole('button', { name: 'Reveal token' }).click()
    await page.getByText('swordfish').waitFor()

    expect(planned).toEqual({
      id: ['', '+ known after apply'],
      hidden: ['', '+ known after apply'],
      'token[0]': ['', '+ sensitive'],
    })
    expect(text).not.toContain('swordfish')
    expect(applied['hidden']).toEqual(['', '+ sensitive'])
    expect(resource['id']).toEqual(['', '+ set during apply'])
    expect(text).not.toContain('known after apply')
    expect(found).toEqual([])
  })

  test.each(['text', 'structured'])(
    'an error shows its place, its excerpt and its detail, from %s output',
    async (kind) => {
      const name = `refused-${kind}`
      const workspace = await remoteWorkspace(server, { name, configuration: REFUSED })
      const run = kind === 'text' ? await startRun(server, workspace) : await planFromCommandLine(workspace, REFUSED)
      await until(async () => (await readRun(server, run)).attributes.status === 'errored')

      await open(name, run, '?part=log')
      const card = page.getByRole('article', { name: 'Error: Resource precondition failed' })
      await card.waitFor()
      const said = (await card.innerText()).replaceAll(/\s+/g, ' ')
      const marked = await card.locator('mark').innerText()
      await card.getByRole('link', { name: 'View in log' }).click()
      await page.waitForURL(/line=\d+/)
      const log = (await page.getByRole('region', { name: 'Plan log' }).innerText()).replaceAll(/\s+/g, ' ')

      expect(said).toMatch(/main\.tf line \d+, in resource "terraform_data" "box"/)
      expect(said).toContain('var.size is "tiny"')
      expect(said).toContain('The size tiny is too short.')
      expect(marked).toBe('length(var.size) > 10')
      expect(log).toContain('│ Error: Resource precondition failed')
      expect(log).toContain('│ var.size is "tiny"')
      expect(log).not.toContain('@message')
    },
  )

  test('rows complete during the apply, and the log follows only when scrolled to its end', async () => {
    const directory = await terraformDirectory(server, {})
    // The run may have a dedicated user.
    await chmod(directory.path, 0o711)
    const [first, second] = ['first', 'second'].map((name) => join(directory.path, name))
    const talks = `provisioner "local-exec" { command = "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo early $i; done" }`
    const goesOn = `provisioner "local-exec" { command = "i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo later $i; done" }`
    const workspace = await remoteWorkspace(server, {
      name: 'ticking',
      configuration: `
resource "terraform_data" "slow" {
  ${talks}
  ${gatedProvisioner(first ?? '')}
  ${goesOn}
  ${gatedProvisioner(second ?? '')}
}
resource "terraform_data" "after" {
  input = terraform_data.slow.id
}
`,
    })
    const run = await startRun(server, workspace)
    await untilRunIs(server, async () => readRun(server, run), 'applying')

    await open('ticking', run, '')
    const current = page.getByRole('navigation', { name: 'Run sections' }).locator('[aria-current]')
    await current.filter({ hasText: 'Changes' }).waitFor()
    expect(await current.count()).toBe(1)
    const row = (name: string) => page.getByRole('button', { name: `terraform_data.${name}` })
    await row('slow').filter({ hasText: 'creating' }).waitFor()
    await row('after').filter({ hasText: 'waiting' }).waitFor()
    await open('ticking', run, '?part=log')
    const pane = page.getByRole('region', { name: 'Apply log' })
    const top = async () => pane.evaluate((element) => element.scrollTop)
    await pane.getByText('early 200', { exact: false }).waitFor()
    // Initially the log is scrolled to its end.
    expect(await top()).toBeGreaterThan(0)
    await pane.evaluate((element) => {
      element.scrollTop = 400
    })
    const jump = page.getByRole('button', { name: 'Jump to latest' })
    await jump.waitFor()
    const before = { pane: await top(), page: await page.evaluate<number>('scrollY') }
    await writeFile(first ?? '', '')
    await jump.filter({ hasText: /\(\d+ new\)/ }).waitFor()
    const after = { pane: await top(), page: await page.evaluate<number>('scrollY') }
    await jump.click()
    await pane.getByText('later 50', { exact: false }).waitFor()
    await open('ticking', run, '?part=changes')
    await row('slow').filter({ hasText: 'creating' }).waitFor()
    await writeFile(second ?? '', '')
    await row('after').filter({ hasText: 'created' }).waitFor()
    await page.getByText('Applied: 2 added, 0 changed, 0 destroyed').waitFor()

    expect(after).toEqual(before)
  })

  test('an apply that fails with a long output says why, here and in the overview', async () => {
    const command = 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo number $i of many; done; exit 3'
    const workspace = await remoteWorkspace(server, {
      name: 'verbose',
      configuration: `resource "terraform_data" "bad" {\n  provisioner "local-exec" { command = "${command}" }\n}\n`,
    })
    const run = await finished(await startRun(server, workspace), 'errored')

    await open('verbose', run, '')
    const card = page.getByRole('article', { name: 'Error: local-exec provisioner error' })
    await card.getByRole('button', { name: /^Show all \d+ lines$/ }).waitFor()
    const notice = page.getByText(/^The apply failed: local-exec provisioner error/)
    await notice.getByText('0 of 1 change applied').waitFor()
    const collapsed = await card.innerText()
    const heights = [await page.evaluate<number>('document.body.scrollHeight')]
    const found = await accessFaults(page)
    await card.getByRole('button', { name: /^Show all/ }).click()
    await card.getByRole('button', { name: 'Show less' }).waitFor()
    heights.push(await page.evaluate<number>('document.body.scrollHeight'))
    const configuration = page.getByRole('link', { name: 'Download configuration' })
    const archive = await page.request.get(new URL((await configuration.getAttribute('href')) ?? '', server.url).href)
    const recovery = await page.getByRole('button', { name: 'Recover unsaved state' }).count()
    await notice.getByRole('link', { name: 'View in log' }).click()
    await page.waitForURL(/phase=apply&line=\d+/)
    await page.goto(`${server.url}/app/main`)
    const failed = page.getByRole('list', { name: 'Failed (last 24 hours)' }).getByRole('listitem')
    await failed.filter({ hasText: 'verbose' }).getByText('local-exec provisioner error (main.tf line 2)').waitFor()

    expect(collapsed).toMatch(/exit status 3[^]*… [\d,]+ lines …[^]*number 3000 of many/)
    expect(recovery).toBe(0)
    expect(Math.max(...heights)).toBeLessThan(2500)
    expect(found).toEqual([])
    expect(archive.headers()['content-type']).toContain('gzip')
  })

  test('a log of 20,000 lines is searchable, and each line has a URL', async () => {
    const command = 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo number $i of many; done'
    const workspace = await remoteWorkspace(server, {
      name: 'long',
      configuration: `resource "terraform_data" "long" {\n  provisioner "local-exec" { command = "${command}" }\n}\n`,
    })
    const run = await finished(await startRun(server, workspace), 'applied')
    await open('long', run, '?part=log')
    const pane = page.getByRole('region', { name: 'Apply log' })
    const search = page.getByLabel('Search the log')

    await search.fill('NUMBER 1999')
    await page.getByText('11 matches', { exact: true }).waitFor()
    await search.press('Enter')
    await pane.getByText('number 1999 of many').waitFor()
    await search.press('Shift+Enter')
    await pane.getByText('number 19999 of many').waitFor()
    const marks = await pane.locator('mark').allInnerTexts()
    await pane.getByRole('link', { name: 'Line 120', exact: true }).waitFor({ state: 'detached' })
    await open('long', run, '?part=log&line=120')
    await pane.getByRole('link', { name: 'Line 120', exact: true }).waitFor()
    const inPage = await pane.getByRole('link').count()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download log' }).click()

    expect(marks).toContain('number 1999')
    expect(inPage).toBeLessThan(100)
    expect((await download).suggestedFilename()).toMatch(/^apply-.*\.log$/)
  })

  test('no page has logged an error', () => {
    expect(faults).toEqual([])
  })
})
