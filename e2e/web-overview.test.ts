import { describe, expect, test } from 'vitest'
import { startReceiver } from '../server/src/testing/receiver.ts'
import { hasBrowser } from './browser.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, until } from './run-progress.ts'
import { hasTerraform } from './terraform.ts'
import {
  accessFaults,
  bootWebServer,
  createMember,
  DESK,
  openAdminPage,
  openPageOf,
  overflowOf,
  PASSWORD,
  PHONE,
  watchFaults,
} from './web-page.ts'

/** Time limit for the page to show the result of a run, in ms. */
const ENGINE = { timeout: 60_000 }
const CHANGE = 'resource "terraform_data" "one" {}'

describe.skipIf(!hasBrowser || !hasTerraform)('the overview', async () => {
  if (!hasBrowser || !hasTerraform) return
  const server = await bootWebServer()

  /** An owner of the organization `main` who has no token yet. */
  async function createOwner(username: string) {
    const email = `${username}@example.com`
    const { data: user } = await server.api('POST', '/admin/users', { username, email, password: PASSWORD })
    const { data: teams } = await server.api('GET', '/organizations/main/teams')
    const owners = teams.find((team: { attributes: { name: string } }) => team.attributes.name === 'owners')
    await server.api('POST', '/organizations/main/organization-memberships', {
      data: {
        type: 'organization-memberships',
        attributes: { email },
        relationships: { teams: { data: [{ type: 'teams', id: owners.id }] } },
      },
    })
    return user.id as string
  }

  test('a new server shows Get started, whose steps are completed as they are done elsewhere', async () => {
    const userId = await createOwner('newcomer')
    const page = await openPageOf(server, 'newcomer', '/app')
    const faults = watchFaults(page)
    const steps = page.getByRole('region', { name: 'Get started' })
    await steps.getByText('0 of 3 done').waitFor()
    const path = new URL(page.url()).pathname
    const lines = await steps.getByRole('region', { name: 'the sign-in commands' }).textContent()
    const access = await accessFaults(page)
    await page.setViewportSize(PHONE)
    const overflow = await overflowOf(page)
    await page.setViewportSize(DESK)

    const tokens = `/users/${userId}/authentication-tokens`
    const { data: token } = await server.api('POST', tokens, {
      data: { type: 'authentication-tokens', attributes: {} },
    })
    // The first request of the CLI with it.
    await server.api('GET', '/account/details', undefined, { token: token.attributes.token })
    // Like a user returning from the terminal.
    await page.evaluate("window.dispatchEvent(new Event('focus'))")
    await steps.getByText('1 of 3 done').waitFor()
    const workspace = await remoteWorkspace(server, { name: 'first', configuration: CHANGE })
    await steps.getByText('2 of 3 done').waitFor()
    await steps.getByRole('region', { name: 'the commands of the first run' }).waitFor()
    await startRun(server, workspace, { 'auto-apply': false })
    const over = page.getByRole('region', { name: 'Setup complete' })
    await over.waitFor()
    await page.getByRole('region', { name: 'Needs approval' }).getByText('first', { exact: true }).waitFor(ENGINE)
    const { url } = await startReceiver()
    await server.api('POST', '/organizations/main/tasks', {
      data: { type: 'tasks', attributes: { name: 'check', url, category: 'task' } },
    })
    await until(async () => (await over.getByText('done', { exact: true }).count()) === 4)
    await over.getByRole('button', { name: 'Hide' }).click()
    await page.reload()
    await page.getByRole('region', { name: 'Needs approval' }).waitFor()
    const isHidden = (await over.count()) === 0
    await page.goto(`${server.url}/app/main/workspaces`)
    await page.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Go to' }).getByRole('combobox').fill('get started')
    await page.getByRole('option', { name: 'Show “Get started”' }).waitFor()
    await page.keyboard.press('Enter')
    await over.waitFor()
    const back = new URL(page.url()).pathname

    expect(path).toBe('/app/main')
    expect(isHidden).toBe(true)
    expect(back).toBe('/app/main')
    expect(lines).toContain(`GROUNDSTATE_URL=${server.url}`)
    expect(access).toEqual([])
    expect(overflow).toBe(0)
    expect(faults).toEqual([])
  })

  test('a sample is created, approved and deleted, and everything appears without a reload', async () => {
    const page = await openAdminPage(server, '/app?all=true')
    // The sample and the runs of its workspaces may be refetched while they are deleted.
    const faults = watchFaults(page, [/^404 GET \S+\/acme\/sample$/, /^404 GET \S+\/runs\?page\[size\]=1$/])
    await page.getByRole('button', { name: 'New organization' }).click()
    const dialog = page.getByRole('dialog', { name: 'New organization' })
    await dialog.getByLabel('Name').fill('two words')
    const refusal = await dialog.getByRole('alert').textContent()
    await dialog.getByLabel('Name').fill('acme')
    await dialog.getByLabel('Email').fill('acme@example.com')
    await dialog.getByRole('button', { name: 'Create organization' }).click()
    await page.waitForURL('**/app/acme')

    await page.getByRole('button', { name: 'Create sample project' }).click()
    const waiting = page.getByRole('region', { name: 'Needs approval' })
    await waiting.getByRole('link', { name: 'Review the run of sample-network' }).waitFor(ENGINE)
    // The counts are read in parallel with the runs.
    await expect.poll(async () => page.title()).toContain('acme · 1 run needs approval')
    const access = await accessFaults(page)
    await page.setViewportSize(PHONE)
    const overflow = await overflowOf(page)
    await page.setViewportSize(DESK)
    const href = await waiting.getByRole('link', { name: 'sample-network', exact: true }).getAttribute('href')
    const runId = href?.split('/').at(-1) ?? ''
    await server.api('POST', `/runs/${runId}/actions/apply`, {})
    const sample = page.getByRole('region', { name: 'Sample project' })
    await sample.getByText('applied', { exact: true }).waitFor(ENGINE)
    await waiting.getByRole('link', { name: 'Review the run of sample-app' }).waitFor(ENGINE)
    await sample.getByRole('button', { name: 'Remove sample project' }).click()
    const goes = await sample.getByRole('group').textContent()
    await sample.getByRole('group').getByRole('button', { name: 'Remove sample project' }).click()
    await page.getByRole('button', { name: 'Create sample project' }).waitFor()
    await page.locator('h1:focus').waitFor()
    const { data: left } = await server.api('GET', '/organizations/acme/workspaces')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Go to' }).getByRole('combobox').fill('create sample')
    await page.getByRole('option', { name: 'Create sample project' }).waitFor()
    await page.keyboard.press('Enter')
    await sample.getByRole('button', { name: 'Remove sample project' }).waitFor()

    expect(refusal).toContain('letters, numbers')
    expect(access).toEqual([])
    expect(overflow).toBe(0)
    expect(goes).toContain('workspace sample-network: 1 run and 12 resources in its state')
    expect(goes).toContain('run task')
    expect(left).toEqual([])
    expect(faults).toEqual([])
  })

  test('failed runs show a reason and link to the log, waiting runs show why, and readers cannot approve', async () => {
    const broken = await remoteWorkspace(server, {
      name: 'broken',
      configuration: 'resource "terraform_data" "one" {\n  inputs = 1\n}',
    })
    const failed = await startRun(server, broken, { message: 'Rename an input' })
    await until(async () => (await readRun(server, failed)).attributes.status === 'errored')
    const gone = await remoteWorkspace(server, { name: 'legacy', configuration: CHANGE })
    const applied = await startRun(server, gone)
    await until(async () => (await readRun(server, applied)).attributes.status === 'applied')
    await startRun(server, gone, { 'is-destroy': true, 'auto-apply': false })
    await server.api('POST', `/workspaces/${broken.id}/actions/lock`, { reason: 'maintenance' })
    await startRun(server, broken)
    await createMember(server, 'reader', { workspaceId: gone.id })

    const page = await openAdminPage(server, '/app/main')
    const failure = page.getByRole('list', { name: 'Failed (last 24 hours)' }).getByRole('listitem')
    await failure.getByText('Unsupported argument (main.tf line 2)').waitFor()
    await failure.getByRole('link', { name: 'broken' }).waitFor()
    const log = await failure.getByRole('link', { name: 'broken' }).getAttribute('href')
    const line = await page.getByRole('list', { name: 'Running and queued' }).getByRole('listitem').textContent()
    const destroy = page
      .getByRole('list', { name: 'Needs approval' })
      .getByRole('listitem')
      .filter({ hasText: 'legacy' })
    await destroy.getByText('destroy', { exact: true }).waitFor(ENGINE)
    const reader = await openPageOf(server, 'reader', '/app/main')
    const faults = watchFaults(reader)
    await reader.getByRole('list', { name: 'Needs approval' }).getByText('legacy').waitFor()

    expect(log).toContain(`/runs/${failed}?part=log`)
    expect(line).toContain('the workspace is locked by user admin')
    expect(await destroy.getByRole('link', { name: 'Review the run of legacy' }).count()).toBe(1)
    expect(await reader.getByRole('link', { name: /^Review/ }).count()).toBe(0)
    expect(await reader.getByRole('button', { name: /sample/ }).count()).toBe(0)
    expect(await reader.getByText('broken').count()).toBe(0)
    expect(faults).toEqual([])
  })
})
