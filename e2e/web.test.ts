import { existsSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { totpCode } from '../server/src/features/identity/sessions/totp.ts'
import { type Received, startReceiver } from '../server/src/testing/receiver.ts'
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

/** A user with a password, and a token to act for them. */
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

/** A user with a second factor. */
async function enrolled(username: string) {
  const person = await createPerson(username)
  const act = async (action: string, body: unknown) =>
    server.api('POST', `/account/two-factor/actions/${action}`, body, person)
  const { data } = await act('enroll', { password: PASSWORD })
  const secret = data.attributes.secret as string
  await act('verify', { otp: totpCode(secret, new Date()) })
  return { secret }
}

/** A page in a new browser in which `username` has entered name and password. */
async function openPageOf(username: string, path: string) {
  const own = await openPage()
  await own.goto(`${server.url}${path}`)
  await own.getByLabel('Username or email').fill(username)
  await own.getByLabel('Password').fill(PASSWORD)
  await own.getByRole('button', { name: 'Sign in' }).click()
  return own
}

/** A workspace with a mandatory pre-plan task. */
async function createAskingWorkspace(name: string, url: string) {
  const create = async (path: string, type: string, attributes: object, relationships?: object) =>
    (await server.api('POST', path, { data: { type, attributes, relationships } })).data.id as string
  const workspace = await create('/organizations/main/workspaces', 'workspaces', { name })
  const task = await create('/organizations/main/tasks', 'tasks', { name: `task-${name}`, url, category: 'task' })
  const attributes = { 'enforcement-level': 'mandatory', stages: ['pre_plan'] }
  const relationships = { task: { data: { type: 'tasks', id: task } } }
  await create(`/workspaces/${workspace}/tasks`, 'workspace-tasks', attributes, relationships)
}

async function texts(list: Locator) {
  await list.waitFor()
  return list.getByRole('listitem').allTextContents()
}

describe.skipIf(!hasBrowser)('the web application', () => {
  test.skipIf(!hasTerraform)('a plan is confirmed there, and the log of its apply streams in', async () => {
    const folder = await terraformFolder(server, {})
    // The run may have a user of its own.
    await chmod(folder.path, 0o711)
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
    const begins: string[] = []
    page.on('request', (request) => {
      const [, log] = /_objects\/logs\/(apply-\w+)\..*offset=0$/.exec(request.url()) ?? []
      if (log !== undefined) begins.push(log)
    })

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
    // The log is read from its start once, not again with every poll of the run.
    expect(begins).toHaveLength(1)
  })

  test.skipIf(!hasTerraform)('a run that a task refuses says which task and why, as it happens', async () => {
    const receiver = await startReceiver()
    const asked = Promise.withResolvers<Received>()
    receiver.onRequest = (received, response) => {
      response.end()
      asked.resolve(received)
    }
    await createAskingWorkspace('guarded', receiver.url)
    const folder = await terraformFolder(server, { 'main.tf': cloudBlock('guarded') })
    await folder.ok(['init', '-input=false'])
    const { done } = folder.start(['plan', '-input=false'])
    const { payload } = await asked.promise
    const message = `port 22 is open: ${'w'.repeat(500)}`
    const task = page.getByRole('region', { name: 'Pre-plan tasks' }).getByRole('listitem')

    await page.setViewportSize({ width: 360, height: 740 })
    await page.goto(`${server.url}/app/main/workspaces/guarded/runs/${payload.run_id}`)
    await task.getByText('running', { exact: true }).waitFor()
    await fetch(payload.task_result_callback_url, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${payload.access_token}`, 'content-type': 'application/vnd.api+json' },
      body: JSON.stringify({
        data: { type: 'task-results', attributes: { status: 'failed', message, url: 'https://receiver.example/22' } },
      }),
    })
    await page.getByText('The apply was not reached').waitFor()
    const plan = await page.getByRole('region', { name: 'Plan', exact: true }).textContent()
    const waiting = await page.getByText('Waiting for output').count()
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    await done

    expect(await task.textContent()).toContain(`task-guardedmandatoryfailed${message}`)
    expect(await task.getByRole('link').getAttribute('href')).toBe('https://receiver.example/22')
    expect(plan).toContain(`The plan was never started: the mandatory task task-guarded failed: ${message}`)
    expect(waiting).toBe(0)
    expect(overflow).toBe(0)
  })

  test('long texts wrap on a phone, and an address that leads nowhere leads back', async () => {
    const name = 'w'.repeat(90)
    await server.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name, description: 'd'.repeat(2000) } },
    })
    const overflow = async () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')

    await page.setViewportSize({ width: 375, height: 740 })
    await page.goto(`${server.url}/app/main`)
    await page.getByText(name).waitFor()
    const ofList = await overflow()
    await page.goto(`${server.url}/app/main/${name}`)
    await page.getByRole('heading', { name }).waitFor()
    const ofWorkspace = await overflow()
    await page.goto(`${server.url}/app/main/${name}/nothing/of/this/kind`)
    await page.getByText('There is no such page').waitFor()
    await page.getByRole('link', { name: 'Your organizations' }).click()
    await page.waitForURL('**/app')

    expect(ofList).toBe(0)
    expect(ofWorkspace).toBe(0)
  })
})
