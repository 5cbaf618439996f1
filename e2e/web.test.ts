import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { totpCode } from '../server/src/features/sessions/totp.ts'
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

const PASSWORD = 'a good password'

/** A person with a password, and a token to act for them. */
async function createPerson(username: string) {
  const { data } = await server.api('POST', '/admin/users', {
    username,
    email: `${username}@example.com`,
    password: PASSWORD,
  })
  const path = `/users/${data.id}/authentication-tokens`
  const { data: token } = await server.api('POST', path, { data: { type: 'authentication-tokens', attributes: {} } })
  return { token: token.attributes.token as string }
}

/** A person whose second factor is on. */
async function enrolled(username: string) {
  const person = await createPerson(username)
  const act = async (action: string, body: unknown) =>
    server.api('POST', `/account/two-factor/actions/${action}`, body, person)
  const { data } = await act('enroll', { password: PASSWORD })
  const secret = data.attributes.secret as string
  await act('verify', { otp: totpCode(secret, new Date()) })
  return { secret }
}

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

  test('an account with a second factor is asked for a code, and signs in with it', async () => {
    const { secret } = await enrolled('ada')
    const own = await openPage()
    const signIn = own.getByRole('button', { name: 'Sign in' })

    await own.goto(`${server.url}/app/settings/tokens`)
    await own.getByLabel('Username or email').fill('ada')
    await own.getByLabel('Password').fill(PASSWORD)
    await signIn.click()
    await own.getByText('a code of your authenticator is needed').waitFor()
    await own.getByLabel('Code of your authenticator').fill('nonsense')
    await signIn.click()
    await own.getByText('the code is wrong').waitFor()
    // Enrolling has used up the code of this moment; the next one is taken early.
    await own.getByLabel('Code of your authenticator').fill(totpCode(secret, new Date(Date.now() + 30_000)))
    await signIn.click()
    await own.getByRole('heading', { name: 'API tokens' }).waitFor()

    expect(new URL(own.url()).pathname).toBe('/app/settings/tokens')
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
