import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { readRun, untilRunIs } from './run-progress.ts'
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
import { button, region } from './workspace-page.ts'

const STATE = {
  version: 4,
  terraform_version: '1.11.4',
  serial: 7,
  lineage: '11111111-2222-3333-4444-555555555555',
  outputs: { answer: { value: '42', type: 'string' } },
  resources: [
    {
      mode: 'managed',
      type: 'terraform_data',
      name: 'one',
      provider: 'provider["terraform.io/builtin/terraform"]',
      instances: [{ schema_version: 0, attributes: { id: 'a', input: null, output: null, triggers_replace: null } }],
    },
  ],
}

/** A directory with these files, which is removed with the others of the system. */
function directoryOf(files: Record<string, string>, name = 'infra') {
  const directory = join(mkdtempSync(join(tmpdir(), 'groundstate-upload-')), name)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), content)
  }
  return directory
}

/** Drops files onto an element. */
async function drop(page: Page, label: string, files: readonly { name: string; text: string }[]) {
  const data = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer()
    for (const { name, text } of ${JSON.stringify(files)}) transfer.items.add(new File([text], name))
    return transfer
  })()`)
  await page.getByRole('group', { name: label }).dispatchEvent('drop', { dataTransfer: data })
}

/** Drops a directory, as the file manager does. */
async function dropDirectory(page: Page, label: string, directory: string) {
  const box = await page.getByRole('group', { name: label }).boundingBox()
  const session = await page.context().newCDPSession(page)
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', {
      type,
      x: (box?.x ?? 0) + 5,
      y: (box?.y ?? 0) + 5,
      data: { items: [], files: [directory], dragOperationsMask: 1 },
    })
}

describe.skipIf(!hasBrowser || !hasTerraform)('the first run in the browser', async () => {
  if (!hasBrowser || !hasTerraform) return
  const server = await bootWebServer()
  const page = await openAdminPage(server, '/app/main/workspaces?upload=true')
  const faults = watchFaults(page)
  const dialog = page.getByRole('dialog')
  const runOf = () => /\/runs\/(run-\w+)/.exec(page.url())?.[1] ?? ''

  test('a folder is uploaded into a new workspace, and its run opens and plans', async () => {
    const long = `modules/${'a-directory-with-a-long-name/'.repeat(4)}main.tf`
    const directory = directoryOf({
      'main.tf': `resource "terraform_data" "one" {}\nmodule "long" {\n  source = "./${dirname(long)}"\n}`,
      [long]: 'resource "terraform_data" "deep" {}',
      '.terraform/providers/big': 'x',
      'notes/todo.txt': 'x',
      '.terraformignore': 'notes/\n',
    })

    await dialog.waitFor()
    const empty = await accessFaults(page)
    await dialog.getByLabel('Folder', { exact: true }).setInputFiles(directory)
    await dialog.getByText('2 files left out').waitFor()
    await dialog.getByText('Show files').click()
    const listed = await dialog.getByRole('list', { name: 'Files to upload' }).getByRole('listitem').count()
    const filled = await accessFaults(page)
    await page.setViewportSize(PHONE)
    const overflow = await overflowOf(page)
    const name = await dialog.getByLabel('Name', { exact: true }).inputValue()
    await dialog.getByRole('button', { name: 'Upload and create run' }).click()
    await page.waitForURL(/\/workspaces\/infra\/runs\/run-/)
    const run = await untilRunIs(server, async () => readRun(server, runOf()), 'planned')
    const { data: plan } = await server.api('GET', `/runs/${runOf()}/plan`)

    expect([...empty, ...filled]).toEqual([])
    expect(overflow).toBe(0)
    expect(listed).toBe(3)
    expect(name).toBe('infra')
    expect(run.attributes).toMatchObject({ message: 'Upload of infra', source: 'tfe-ui' })
    expect(plan.attributes['resource-additions']).toBe(2)
    expect(faults).toEqual([])
  })

  test('a dropped folder replaces the configuration of a workspace, except for a plan-only run', async () => {
    const { data } = await server.api('GET', '/organizations/main/workspaces/infra')
    const current = data.relationships['current-configuration-version'].data.id

    await page.goto(`${server.url}/app/main/workspaces/infra?upload=true`)
    await dialog.waitFor()
    await dropDirectory(
      page,
      'Configuration',
      directoryOf({ 'main.tf': 'resource "terraform_data" "two" {}', '.git/HEAD': 'x', 'a/b/c.txt': 'x' }),
    )
    await dialog.getByText('2 files,').waitFor()
    await dialog.getByText('The upload replaces the current configuration of infra').waitFor()
    await dialog.getByLabel('Plan only').check()
    await dialog.getByRole('button', { name: 'Upload and create run' }).click()
    await page.waitForURL(/\/workspaces\/infra\/runs\/run-/)
    await untilRunIs(server, async () => readRun(server, runOf()), 'planned_and_finished')
    const { data: after } = await server.api('GET', '/organizations/main/workspaces/infra')

    expect(after.relationships['current-configuration-version'].data.id).toBe(current)
    expect(faults).toEqual([])
  })

  test('an archive whose configuration is in a directory runs there', async () => {
    const directory = directoryOf({
      'prod/main.tf': 'resource "terraform_data" "one" {}',
      'prod/run.sh': 'x',
      '.git/HEAD': 'x',
      'prod/.terraform/providers/big': 'x',
    })
    chmodSync(join(directory, 'prod/run.sh'), 0o755)
    symlinkSync('run.sh', join(directory, 'prod/link.sh'))
    const archive = join(dirname(directory), 'release.tar.gz')
    execFileSync('tar', ['-czf', archive, '-C', directory, '.'])

    await page.goto(`${server.url}/app/main/workspaces?upload=true`)
    await dialog.getByLabel('Archive or files').setInputFiles(archive)
    await dialog.getByText('2 files left out (.git, .terraform).').waitFor()
    await dialog.getByLabel('Name', { exact: true }).fill('from-archive')
    await dialog.getByRole('button', { name: 'Upload and create run' }).click()
    await page.waitForURL(/\/workspaces\/from-archive\/runs\/run-/)
    await untilRunIs(server, async () => readRun(server, runOf()), 'planned')
    const { data } = await server.api('GET', '/organizations/main/workspaces/from-archive')
    const version = data.relationships['current-configuration-version'].data.id
    const stored = await page.request.get(`${server.url}/api/v2/configuration-versions/${version}/download`)
    const listed = execFileSync('tar', ['-tvz'], { input: await stored.body(), encoding: 'utf8' })

    expect(listed).toMatch(/-rwxr-xr-x.* \.\/prod\/run\.sh\n/)
    expect(listed).toContain('link.sh -> run.sh')
    expect(listed).not.toMatch(/\.git|providers/)
    expect(data.attributes['working-directory']).toBe('prod')
    expect(faults).toEqual([])
  })

  test('a workspace that was created before an upload failed is named and linked', async () => {
    await page.goto(`${server.url}/app/main/workspaces?upload=true`)
    await dialog.getByLabel('Archive or files').setInputFiles({
      name: 'half.tf',
      mimeType: 'text/plain',
      buffer: Buffer.from('x'),
    })
    const expected = watchFaults(page, [/^500 POST/])
    await page.route('**/configuration-versions', async (route) => route.fulfill({ status: 500 }))
    await dialog.getByRole('button', { name: 'Upload and create run' }).click()
    await dialog.getByText('was created, and is used for the next attempt').waitFor()
    await page.unroute('**/configuration-versions')
    await dialog.getByRole('link', { name: 'half' }).click()
    await page.getByRole('heading', { name: 'half', level: 1 }).waitFor()

    expect(await dialog.count()).toBe(0)
    expect(expected).toEqual([])
    faults.length = 0
  })

  test('what cannot be uploaded is explained, and the earlier selection stays', async () => {
    await page.goto(`${server.url}/app/main/workspaces?upload=true`)
    const alert = dialog.getByRole('alert')
    await dialog.getByLabel('Folder', { exact: true }).setInputFiles(directoryOf({ 'README.md': 'x' }, 'docs'))
    await alert.getByText('There are no .tf files in docs.').waitFor()
    await drop(page, 'Configuration', [{ name: 'infra.zip', text: 'PK' }])
    await alert.getByText('extract it and select the folder').waitFor()
    await drop(page, 'Configuration', [{ name: 'infra.tar.gz', text: 'no archive' }])
    await alert.getByText('not a valid .tar.gz archive').waitFor()
    await drop(page, 'Configuration', [{ name: 'main.tf', text: 'x' }])
    await dialog.getByText('1 file,').waitFor()
    await drop(page, 'Configuration', [{ name: 'infra.zip', text: 'PK' }])
    await alert.getByText('extract it').waitFor()
    const kept = await dialog.getByText('1 file,').count()
    await dialog.getByLabel('Name', { exact: true }).fill('infra')
    const expected = watchFaults(page, [/^422 POST/])
    await dialog.getByRole('button', { name: 'Upload and create run' }).click()
    await dialog.getByRole('alert').getByText('has already been taken').first().waitFor()

    expect(kept).toBe(1)
    expect(expected).toEqual([])
    faults.length = 0
  })

  test('a state file is imported into a new workspace, and no second one into it', async () => {
    const file = (state: object) => ({
      name: 'terraform.tfstate',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(state)),
    })

    await page.goto(`${server.url}/app/main/workspaces?import=true`)
    await dialog.getByLabel('File', { exact: true }).setInputFiles(file({ format_version: '1.0', values: {} }))
    await dialog.getByRole('alert').getByText('is the output of “show -json”').waitFor()
    await dialog.getByLabel('File', { exact: true }).setInputFiles(file(STATE))
    await dialog.getByText(STATE.lineage).waitFor()
    const shown = await dialog.getByText('1 resource', { exact: true }).count()
    const found = await accessFaults(page)
    await dialog.getByLabel('Name', { exact: true }).fill('imported')
    await dialog.getByRole('button', { name: 'Import state' }).click()
    await page.waitForURL(/\/workspaces\/imported\/states\?version=sv-/)
    await page.getByText('terraform_data.one').first().waitFor()
    const { data } = await server.api('GET', '/organizations/main/workspaces/imported')
    const { data: version } = await server.api('GET', `/workspaces/${data.id}/current-state-version`)
    await page.goto(`${server.url}/app/main/workspaces/imported?import=true`)
    await dialog.getByLabel('File', { exact: true }).setInputFiles(file({ ...STATE, serial: 8 }))
    await dialog.getByText('This is not possible: imported has a state already').waitFor()

    expect(shown).toBe(1)
    expect(found).toEqual([])
    expect(version.attributes).toMatchObject({ serial: 7, lineage: STATE.lineage })
    expect(data.attributes.locked).toBe(false)
    expect(faults).toEqual([])
  })

  test('commands for other sources have the address of this server', async () => {
    await page.goto(`${server.url}/app/main/workspaces?import=true`)
    await button(page, 'From another server').click()
    await dialog.getByLabel('Organization there').fill('acme')
    const command = await region(page, 'the command that imports the states').textContent()
    await dialog.getByLabel('Organization there').fill("a b'; rm -rf $HOME")
    await dialog.getByLabel('Address of the other server').fill('http://x y')
    await dialog.getByText('enter an address that begins with').waitFor()
    const quoted = await region(page, 'the command that imports the states').textContent()
    const server1 = await accessFaults(page)
    await button(page, 'From another backend').click()
    await region(page, 'the command that migrates the state').waitFor()

    expect(command).toContain(`--url ${server.url} --organization main`)
    expect(command).toContain('--from-organization acme')
    expect(quoted).toContain(String.raw`--from-organization 'a b'\''; rm -rf $HOME'`)
    expect(quoted).toContain("--from-url 'http://x y'")
    expect([...server1, ...(await accessFaults(page))]).toEqual([])
  })

  test('a reader sees why they cannot upload', async () => {
    const { data } = await server.api('GET', '/organizations/main/workspaces/infra')
    await createMember(server, 'reader', { workspaceId: data.id })

    const own = await openPageOf(server, 'reader', '/app/main/workspaces?upload=true')
    await own.getByRole('link', { name: 'infra', exact: true }).waitFor()
    const upload = own.getByRole('button', { name: 'Upload configuration' })

    await expect
      .poll(async () => upload.getAttribute('data-tooltip'))
      .toBe('you can’t create workspaces, or create runs in an existing one: an owner can give your team access')
    expect(await own.getByRole('dialog').count()).toBe(0)
    await own.getByRole('button', { name: 'More actions' }).click()
    expect(await own.getByRole('menuitem', { name: /^Import state/ }).getAttribute('aria-disabled')).toBe('true')
  })
})
