import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { generateKey } from 'openpgp'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { greeting, publishGreeting } from './published-module.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, untilRunIs } from './run-progress.ts'
import type { BootedServer } from './server.ts'
import { hasTerraform } from './terraform.ts'
import { bootWebServer, createMember, layoutFaults, openAdminPage, openPageOf, watchFaults } from './web-page.ts'
import { button } from './workspace-page.ts'

let server: BootedServer
let page: Page
let faults: string[]

const MODULE = '/app/main/registry/modules/network/aws'

beforeAll(async () => {
  if (!hasBrowser) return
  server = await bootWebServer()
  page = await openAdminPage(server, '/app/main/registry')
  faults = watchFaults(page, ['422 PUT', '422 POST'])
})

function directoryOf(files: Record<string, string>) {
  const directory = join(mkdtempSync(join(tmpdir(), 'groundstate-module-')), 'network')
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  return directory
}

const CONFIGURATION = `terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}
variable "cidr" {
  type        = string
  description = "The address range."
}
variable "tags" {
  type    = map(string)
  default = {}
}
output "id" {
  description = "The id of the network."
  value       = aws_vpc.this.id
}
resource "aws_vpc" "this" {
  cidr_block = var.cidr
}
`
const FILES = {
  'README.md': '# Network\n\nA network with <script>alert(1)</script> subnets.\n',
  'main.tf': CONFIGURATION,
  'modules/peering/main.tf': 'variable "peer" {}\n',
}

async function publish(files: Record<string, string>, fields: Record<string, string>) {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Folder', { exact: true }).setInputFiles(directoryOf(files))
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(value)
  await dialog.getByRole('button', { name: 'Publish', exact: true }).click()
}

describe.skipIf(!hasBrowser)('the registry', () => {
  test('a module is published by an upload, and its page describes it', async () => {
    await page.getByRole('heading', { name: 'No modules yet' }).waitFor()
    const empty = await layoutFaults(page)
    await button(page, 'Publish module').first().click()
    await page.getByRole('dialog').waitFor()
    const form = await layoutFaults(page)
    await publish(FILES, { Name: 'net work', Provider: 'aws', Version: '1.0.0' })
    await page.getByText('may only have up to 64 letters').waitFor()
    await publish(FILES, { Name: 'network', Version: '1.0.0' })
    await page.waitForURL(`**${MODULE}*`)
    await page.getByText('A network with').waitFor()
    const readme = await layoutFaults(page)
    const block = await page.getByRole('region', { name: 'the module block' }).textContent()
    const scripts = await page.locator('main script').count()
    await page.getByRole('link', { name: /^Inputs/ }).click()
    await page.getByRole('table', { name: 'Inputs' }).getByText('The address range.').waitFor()
    const inputs = await layoutFaults(page)
    await page.getByRole('link', { name: /^Dependencies/ }).click()
    await page.getByRole('table', { name: 'Dependencies' }).getByText('hashicorp/aws').waitFor()
    await page.getByLabel('Module', { exact: true }).selectOption('modules/peering')
    await page.getByRole('region', { name: 'the module block' }).getByText('network/aws//modules/peering').waitFor()

    expect(block).toContain('/main/network/aws"')
    expect(block).toContain('cidr = null # string')
    expect(scripts).toBe(0)
    expect([...empty, ...form, ...readme, ...inputs]).toEqual([])
    expect(faults).toEqual([])
  })

  test('a second version with an error in a file is published, and its page names file and line', async () => {
    await page.goto(`${server.url}${MODULE}`)
    await button(page, 'Publish version').click()
    const suggested = await page.getByRole('dialog').getByLabel('Version', { exact: true }).inputValue()
    await publish({ 'main.tf': CONFIGURATION, 'broken.tf': 'variable "x" {\n  type =\n}\n' }, {})
    await page.waitForURL('**version=1.1.0*')
    await page.getByText('broken.tf:2').waitFor()
    const broken = await layoutFaults(page)
    await page.getByRole('link', { name: /^Versions/ }).click()
    const rows = page.getByRole('table', { name: 'Versions of network' }).getByRole('row')
    await rows.filter({ hasText: '1.1.0' }).waitFor()
    const versions = await rows.count()

    expect(suggested).toBe('1.1.0')
    expect(versions).toBe(3)
    expect(broken).toEqual([])
    expect(faults).toEqual([])
  })

  test('the list is searched, and a version and the module are deleted after a confirmation', async () => {
    await page.goto(`${server.url}/app/main/registry`)
    await page.getByRole('table', { name: 'Modules of main' }).getByText('1.1.0').waitFor()
    const list = await layoutFaults(page)
    await page.getByLabel('Search modules').fill('nothing')
    await page.getByRole('heading', { name: 'No modules match' }).waitFor()
    await page.goto(`${server.url}${MODULE}?tab=versions`)
    const row = page.getByRole('row', { name: /^1\.1\.0/ })
    await row.getByRole('button', { name: 'Delete' }).click()
    const confirmation = await layoutFaults(page)
    await page.getByRole('button', { name: 'Delete 1.1.0' }).click()
    await row.waitFor({ state: 'detached' })
    await button(page, 'Delete module').click()
    await page.getByLabel('Type network to confirm').fill('network')
    await page.getByRole('button', { name: 'Delete network' }).click()
    await page.getByRole('heading', { name: 'No modules yet' }).waitFor()

    expect([...list, ...confirmation]).toEqual([])
    expect(faults).toEqual([])
  })

  test.skipIf(!hasTerraform)(
    'a version in use names its workspaces, and is deleted anyway once its name is typed',
    async () => {
      await publishGreeting(server, ['1.0.0', '1.1.0'])
      const old = await remoteWorkspace(server, { name: 'old', configuration: greeting('1.0.0') })
      const run = await startRun(server, old)
      await untilRunIs(server, async () => readRun(server, run), 'applied')

      await page.goto(`${server.url}/app/main/registry`)
      const listed = page.getByRole('row', { name: /^greeting/ })
      await listed.getByRole('cell', { name: '1', exact: true }).waitFor()
      const list = await layoutFaults(page)
      await listed.getByRole('link', { name: 'greeting' }).click()
      await page.getByRole('navigation', { name: 'Parts of the version' }).getByText('Workspaces').click()
      const use = page.getByRole('table', { name: 'Workspaces that use the module' }).getByRole('row', { name: /^old/ })
      await use.getByText('behind').waitFor()
      const uses = await layoutFaults(page)
      await page.getByRole('link', { name: /^Versions/ }).click()
      const row = page.getByRole('row', { name: /^1\.0\.0/ })
      await row.getByRole('button', { name: 'Delete' }).click()
      await page.getByText('Used by old. Later runs fail to install it.').waitFor()
      const confirmation = await layoutFaults(page)
      const isDisabled = await button(page, 'Delete anyway').getAttribute('aria-disabled')
      await page.getByLabel('Type 1.0.0 to confirm').fill('1.0.0')
      await button(page, 'Delete anyway').click()
      await row.waitFor({ state: 'detached' })

      expect(isDisabled).toBe('true')
      expect([...list, ...uses, ...confirmation]).toEqual([])
      expect(faults).toEqual([])
    },
  )

  test('GPG keys are added and deleted in the settings', async () => {
    const { publicKey } = await generateKey({ userIDs: [{ name: 'Releases', email: 'releases@example.com' }] })
    await page.goto(`${server.url}/app/main/settings/gpg-keys`)
    await page.getByRole('heading', { name: 'No GPG keys yet' }).waitFor()
    const empty = await layoutFaults(page)
    await button(page, 'Add GPG key').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Public key').fill('not a key')
    await dialog.getByRole('button', { name: 'Add GPG key' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Public key').fill(publicKey)
    await dialog.getByRole('button', { name: 'Add GPG key' }).click()
    const row = page.getByRole('row', { name: /Releases/ })
    await row.waitFor()
    const listed = await layoutFaults(page)
    await row.getByRole('button', { name: /^Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete key' }).click()
    await page.getByRole('heading', { name: 'No GPG keys yet' }).waitFor()

    expect([...empty, ...listed]).toEqual([])
    expect(faults).toEqual([])
  })

  test('the page of a provider lists its versions and what they lack', async () => {
    const inside = '/organizations/main/registry-providers'
    const { publicKey } = await generateKey({ userIDs: [{ name: 'Cloud' }] })
    const key = await page.request.post(`${server.url}/api/registry/private/v2/gpg-keys`, {
      headers: { 'content-type': 'application/vnd.api+json', origin: server.url },
      data: JSON.stringify({ data: { type: 'gpg-keys', attributes: { namespace: 'main', 'ascii-armor': publicKey } } }),
    })
    const keyId = (await key.json()).data.attributes['key-id'] as string
    await server.api('POST', inside, {
      data: {
        type: 'registry-providers',
        attributes: { name: 'cloud', namespace: 'main', 'registry-name': 'private' },
      },
    })
    await server.api('POST', `${inside}/private/main/cloud/versions`, {
      data: { type: 'registry-provider-versions', attributes: { version: '0.1.0', 'key-id': keyId } },
    })

    await page.goto(`${server.url}/app/main/registry?tab=providers`)
    await page.getByRole('link', { name: 'cloud' }).click()
    await page.getByText('Not available: SHA256SUMS is missing').waitFor()
    const shown = await layoutFaults(page)
    await button(page, 'Delete provider').click()
    await page.getByLabel('Type cloud to confirm').fill('cloud')
    await page.getByRole('button', { name: 'Delete cloud' }).click()
    await page.getByRole('heading', { name: 'No providers yet' }).waitFor()

    expect(shown).toEqual([])
    expect(faults).toEqual([])
  })

  test('members who may not publish see why', async () => {
    const person = await createMember(server, 'reader', {})
    const other = await openPageOf(server, person.username, '/app/main/registry')
    const publishing = button(other, 'Publish module').first()

    const disabled = await publishing.getAttribute('aria-disabled')
    await publishing.hover()
    await other.getByText('requires the permission to manage modules').waitFor()

    expect(disabled).toBe('true')
  })
})
