import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, openPage } from './browser.ts'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, terraformFolder } from './terraform.ts'

let server: BootedServer
let page: Page
beforeAll(async () => {
  if (!hasBrowser) return
  if (!existsSync(join(import.meta.dirname, '../web/dist/index.html')))
    throw new Error('the web application is not built: `npm run e2e` builds it')
  server = await bootServer()
  page = await openPage()
})

describe.skipIf(!hasBrowser)('the web application', () => {
  test('a wrong password is refused, and the right one leads to where one wanted to go', async () => {
    await page.goto(`${server.url}/app/main/workspaces`)
    await page.getByLabel('Username or email').fill('admin')
    await page.getByLabel('Password').fill('not the password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    const refusal = await page.getByRole('alert').textContent()

    await page.getByLabel('Password').fill(server.adminPassword())
    await page.getByRole('button', { name: 'Sign in' }).click()

    await page.waitForURL('**/app/main/workspaces')
    expect(refusal).toContain('password')
    await page.getByRole('heading', { name: 'Workspaces of main' }).waitFor()
  })

  test.skipIf(!hasTerraform)('a plan is confirmed there, and the log of its apply streams in', async () => {
    const folder = await terraformFolder(server, {})
    const gate = join(folder.path, 'gate')
    const command = `echo before the gate; while [ ! -e ${gate} ]; do sleep 0.1; done; echo behind the gate`
    await folder.write({
      'main.tf': `${cloudBlock('watched')}
resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "${command}" }
}
`,
    })
    await folder.ok(['init', '-input=false'])
    await folder.ok(['plan', '-out=saved.tfplan'])
    const { data: workspace } = await server.api('GET', '/organizations/main/workspaces/watched')
    await server.api('POST', `/workspaces/${workspace.id}/actions/lock`, { reason: 'lunch' })

    await page.goto(`${server.url}/app/main/workspaces`)
    await page.getByRole('link', { name: 'watched' }).click()
    await page.getByRole('listitem').getByRole('link').click()
    await page.getByText('terraform_data.slow: Plan to create').waitFor()
    await page.getByRole('button', { name: 'Apply', exact: true }).click()
    const reason = await page.getByText('Waiting:').textContent()
    await page.goBack()
    const ofWorkspace = await page.getByText('waits:').textContent()
    await page.goForward()
    await server.api('POST', `/workspaces/${workspace.id}/actions/unlock`)
    await page.getByText('before the gate').first().waitFor()
    const early = await page.getByText('(local-exec): behind the gate').count()
    await writeFile(gate, '')
    await page.getByText('(local-exec): behind the gate').waitFor()
    await page.getByText('applied', { exact: true }).waitFor()

    expect(reason).toContain('locked by user admin')
    expect(reason).toContain('lunch')
    expect(ofWorkspace).toContain('locked by user admin')
    expect(early).toBe(0)
  })
})
