import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, openPage } from './browser.ts'
import { type BootedServer, bootServer } from './server.ts'
import { type Directory, hasTerraform, terraformDirectory } from './terraform.ts'

const AUTHORIZE = /https:\/\/\S+\/oauth\/authorize\?\S+/

let server: BootedServer
let page: Page
let host: string
beforeAll(async () => {
  if (!hasTerraform || !hasBrowser) return
  server = await bootServer({ GROUNDSTATE_TLS: 'auto' })
  host = `localhost:${new URL(server.url).port}`
  page = await openPage()
})

/** A configuration on a computer that only trusts the server's certificate. */
async function newcomer(): Promise<{ directory: Directory; env: Record<string, string | undefined> }> {
  const cloud = `cloud {\n    hostname = "${host}"\n    organization = "main"\n    workspaces { name = "after-login" }\n  }`
  const directory = await terraformDirectory(server, {
    'main.tf': `terraform {\n  ${cloud}\n}\noutput "x" { value = 1 }\n`,
  })
  const home = join(directory.path, '.home')
  // The command opens a browser if it finds this program; here the test opens it.
  const opener = join(home, 'bin/xdg-open')
  await mkdir(join(home, '.terraform.d'), { recursive: true })
  await mkdir(join(home, 'bin'))
  await writeFile(opener, '#!/bin/sh\nexit 0\n')
  await chmod(opener, 0o755)
  const env = {
    HOME: home,
    PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
    SSL_CERT_FILE: join(server.dataDir, 'tls/ca.pem'),
    TF_CLI_CONFIG_FILE: undefined,
  }
  return { directory, env }
}

describe.skipIf(!hasTerraform || !hasBrowser)('terraform login', () => {
  test('signing in and granting consent in the browser issues a valid token', async () => {
    const { directory, env } = await newcomer()
    const login = directory.start(['login', host], { env, input: 'yes\n' })
    const url = await login.saw(AUTHORIZE)

    await page.goto(url)
    await page.getByLabel('Username').fill('admin')
    await page.getByLabel('Password').fill('not the password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    const refusal = await page.getByRole('alert').textContent()
    await page.getByLabel('Password').fill(server.adminPassword())
    await page.getByRole('button', { name: 'Sign in' }).click()
    const question = await page.getByRole('heading').textContent()
    await page.getByRole('button', { name: 'Allow' }).click()
    const result = await login.done

    expect(refusal).toContain('password')
    expect(question).toBe('Allow Terraform to use your account?')
    expect(result.all).toContain('Success!')
    const stored = JSON.parse(await readFile(join(env['HOME'] ?? '', '.terraform.d/credentials.tfrc.json'), 'utf8'))
    expect(stored.credentials[host].token).toMatch(/\S{20}/)
    await directory.ok(['init', '-input=false'], { env })
    expect((await directory.ok(['apply', '-auto-approve'], { env })).all).toContain('Apply complete!')
  })

  test('a signed-in user is asked for consent only, and denying it issues no token', async () => {
    const { directory, env } = await newcomer()
    const login = directory.start(['login', host], { env, input: 'yes\n' })

    await page.goto(await login.saw(AUTHORIZE))
    const request = page.waitForRequest(/^http:\/\/localhost:\d+\/login\?/)
    await page.getByRole('button', { name: 'Deny' }).click()
    const response = new URL((await request).url())
    // The command ignores refusals and interrupts: it keeps waiting.
    login.child.kill('SIGKILL')
    await login.done

    expect(response.searchParams.get('error')).toBe('access_denied')
    await expect(readFile(join(env['HOME'] ?? '', '.terraform.d/credentials.tfrc.json'))).rejects.toThrow('ENOENT')
  })
})
