import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { totpCode } from '../server/src/features/identity/sessions/totp.ts'
import { hasBrowser } from './browser.ts'
import { type BootedServer, ADMIN_TOKEN } from './server.ts'
import {
  accessFaults,
  bootWebServer,
  createMember,
  layoutFaults,
  openAdminPage,
  openPageOf,
  watchFaults,
} from './web-page.ts'
import { button, region } from './workspace-page.ts'

let server: BootedServer
let page: Page
let faults: string[]
let workspaceId: string
beforeAll(async () => {
  if (!hasBrowser) return
  server = await bootWebServer()
  await createMember(server, 'ada', {})
  const workspace = await server.api('POST', '/organizations/main/workspaces', {
    data: { type: 'workspaces', attributes: { name: 'network' } },
  })
  workspaceId = workspace.data.id
  page = await openAdminPage(server, '/app/main/settings')
  // An organization without a token responds 404.
  faults = watchFaults(page, [/404 GET .*authentication-token\?/])
})

async function open(path: string, heading: string) {
  await page.goto(`${server.url}${path}`)
  await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
}

async function organization(name = 'main') {
  return (await server.api('GET', `/organizations/${name}`)).data.attributes
}

/** Waits for the toast of a saved form, and closes it. */
async function saved(section: string) {
  await button(region(page, section), 'Save').click()
  await page.getByText('Settings saved').first().waitFor()
  await region(page, section).getByRole('button', { name: 'Discard changes' }).waitFor({ state: 'detached' })
}

describe.skipIf(!hasBrowser)('an organization', () => {
  test('its settings are changed, and each section says what a change affects', async () => {
    const layout: string[] = []

    await open('/app/main/settings', 'General')
    await region(page, 'Contact').getByLabel('Email').fill('owners@example.com')
    await saved('Contact')
    layout.push(...(await layoutFaults(page)))
    await open('/app/main/settings/defaults', 'Defaults')
    await region(page, 'Execution').getByLabel('Local').check()
    await saved('Execution')
    await region(page, 'Workspace deletion').getByRole('checkbox').check()
    await saved('Workspace deletion')
    layout.push(...(await layoutFaults(page)))
    await open('/app/main/settings/sign-in', 'Sign-in')
    await region(page, 'Two-factor authentication').getByText('lock yourself out').waitFor()
    await region(page, 'Sessions').getByLabel('Idle timeout').fill('45')
    await saved('Sessions')
    await region(page, 'Members’ API tokens').getByRole('checkbox').uncheck()
    await page.getByText('stop working here').waitFor()
    await button(region(page, 'Members’ API tokens'), 'Discard changes').click()
    layout.push(...(await layoutFaults(page)))
    await open('/app/main/settings/retention', 'Retention')
    await page.getByLabel('Delete after a number of days').check()
    await page.getByLabel('Days', { exact: true }).fill('90')
    await page.getByText('older than 90 days').waitFor()
    await saved('Data retention')
    layout.push(...(await layoutFaults(page)))

    expect(await organization()).toMatchObject({
      email: 'owners@example.com',
      'default-execution-mode': 'local',
      'allow-force-delete-workspaces': true,
      'session-timeout': 45,
      'user-tokens-enabled': true,
    })
    const policy = (await server.api('GET', '/organizations/main/relationships/data-retention-policy')).data
    expect(policy.attributes).toEqual({ 'delete-older-than-n-days': 90 })
    expect(layout).toEqual([])
    expect(faults).toEqual([])
  })

  test('mandatory two-factor authentication lists the members whom it locks out', async () => {
    const twoFactor = async (action: string, attributes: object) =>
      (await server.api('POST', `/account/two-factor/actions/${action}`, { data: { type: 'users', attributes } })).data
    const { secret } = (await twoFactor('enroll', { password: server.adminPassword() })).attributes
    await twoFactor('verify', { otp: totpCode(secret, new Date()) })
    await open('/app/main/settings/sign-in', 'Sign-in')

    const section = region(page, 'Two-factor authentication')
    await section.getByRole('checkbox').check()
    const before = await section.getByRole('status').textContent()
    await saved('Two-factor authentication')
    const { 'collaborator-auth-policy': policy } = await organization()
    await section.getByText('can’t open the organization now').waitFor()
    await section.getByRole('checkbox').uncheck()
    await saved('Two-factor authentication')

    expect(before).toContain('1 member will be locked out until they enable it')
    expect(before).toContain('ada')
    expect(policy).toBe('two_factor_mandatory')
    expect(await organization()).toMatchObject({ 'collaborator-auth-policy': 'password' })
  })

  test('quotas show their usage, and where to raise them', async () => {
    await server.api('PATCH', '/admin/organizations/main', {
      data: { type: 'organizations', attributes: { 'run-concurrency': 4 } },
    })

    await open('/app/main/settings/quotas', 'Quotas')

    const meter = page.getByRole('meter', { name: 'Concurrent runs' })
    await meter.waitFor()
    expect(await meter.getAttribute('aria-valuemax')).toBe('4')
    expect(await page.getByRole('link', { name: 'Change plan' }).getAttribute('href')).toBe(
      '/app/admin/organizations/main',
    )
    expect(await layoutFaults(page)).toEqual([])
  })

  test('tokens of the organization and its teams are created, replaced and revoked', async () => {
    const [team] = (await server.api('GET', '/organizations/main/teams?filter[names]=owners')).data
    for (let index = 0; index < 20; index += 1) {
      await server.api('POST', `/teams/${team.id}/authentication-tokens`, {
        data: { type: 'authentication-tokens', attributes: { description: `pipeline ${index + 1}` } },
      })
    }
    const secret = async (name: string) => {
      const code = region(page, name).getByRole('region', { name: 'the token' })
      const text = (await code.textContent()) ?? ''
      await button(region(page, name), 'Done').click()
      return text
    }
    const read = async (token: string, expect_: number) =>
      server.api('GET', '/organizations/main', undefined, { token, expect: expect_ })

    await open('/app/main/settings/tokens', 'Tokens')
    const none = await layoutFaults(page)
    await button(page, 'Create token: organization token').click()
    await region(page, 'Organization token').getByLabel('Expires after').selectOption('30 days')
    await region(page, 'Organization token').getByRole('button', { name: 'Create token', exact: true }).click()
    const first = await secret('Organization token')
    await read(first, 200)
    await button(page, 'Replace: organization token').click()
    await button(region(page, 'Organization token'), 'Replace token').click()
    const second = await secret('Organization token')
    await read(first, 401)
    await read(second, 200)
    await button(region(page, 'Organization token'), 'Revoke').click()
    await button(region(page, 'Organization token'), 'Revoke token').click()
    await region(page, 'Organization token').getByText('No token yet.').waitFor()
    await read(second, 401)
    await page.getByLabel('Search team tokens').fill('pipeline 20')
    await page.getByRole('row', { name: /pipeline 19/ }).waitFor({ state: 'detached' })
    await button(page, 'Actions for pipeline 20').click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await button(page, 'Revoke token').click()
    await page.getByText('No team token matches').waitFor()

    const left = await server.api('GET', '/organizations/main/team-tokens?page[size]=100')
    expect(left.meta.pagination['total-count']).toBe(19)
    await page.getByLabel('Search team tokens').fill('')
    await page.getByRole('row', { name: /pipeline 19/ }).waitFor()
    expect([...none, ...(await layoutFaults(page))]).toEqual([])
    expect(faults).toEqual([])
  })

  test('the audit trail is filtered, an event shows settings before and after, and exports have the filter', async () => {
    await server.api('PATCH', `/workspaces/${workspaceId}`, {
      data: { type: 'workspaces', attributes: { description: 'The network', 'auto-apply': true } },
    })
    const { data: secret } = await server.api('POST', `/workspaces/${workspaceId}/vars`, {
      data: { type: 'vars', attributes: { key: 'token', value: 'first', category: 'env', sensitive: true } },
    })
    await server.api('PATCH', `/workspaces/${workspaceId}/vars/${secret.id}`, {
      data: { type: 'vars', attributes: { value: 'second' } },
    })

    await open('/app/main/audit-trail', 'Audit trail')
    await button(page, 'Update variable').first().click()
    const drawer = page.getByRole('dialog')
    const ofSecret = await drawer.getByRole('table', { name: 'Settings before and after' }).textContent()
    await drawer.getByRole('button', { name: 'Close' }).click()
    await button(page, 'Resource').click()
    await page.getByRole('option', { name: 'Workspace', exact: true }).click()
    await button(page, 'Action').click()
    await page.getByRole('option', { name: 'Update', exact: true }).click()
    await page.getByText('Action: Update').waitFor()
    await page
      .getByRole('row', { name: /variable/ })
      .first()
      .waitFor({ state: 'detached' })
    await button(page, 'Update workspace').first().click()
    await drawer.getByText('auto-apply', { exact: true }).waitFor()
    const changes = await drawer.getByRole('table', { name: 'Settings before and after' }).textContent()
    const access = await accessFaults(page)
    const address = page.url()
    await page.goto(address)
    await drawer.getByText('The network').first().waitFor()
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await button(page, 'Export').click()
    const download = page.waitForEvent('download')
    await page.getByRole('menuitem', { name: 'CSV' }).click()
    const file = await download
    const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n')
    await button(page, 'Clear all').click()
    await page
      .getByRole('row', { name: /Update variable/ })
      .first()
      .waitFor()

    expect(ofSecret).toContain('sensitive')
    expect(changes).toContain('The network')
    expect(file.suggestedFilename()).toMatch(/^audit-trail-main-.*\.csv$/)
    expect(lines).toHaveLength(2)
    expect(lines[1]).toContain(`update,workspace,${workspaceId}`)
    expect([...access, ...(await layoutFaults(page))]).toEqual([])
    expect(faults).toEqual([])
  })

  test('the trail of the server has sign-ins, of a person and a period', async () => {
    await open('/app/admin/audit-trail', 'Audit trail')
    await button(page, 'User').click()
    await page.getByRole('dialog').getByRole('combobox').fill('admin')
    await page.getByRole('option', { name: /^admin/ }).click()
    await page.getByText('User: admin').waitFor()
    await button(page, 'Period').click()
    await page.getByRole('option', { name: 'Last hour' }).click()
    await button(page, 'Sign in').first().waitFor()

    expect(new URL(page.url()).searchParams.get('since')).toMatch(/^"?\d{4}-/)
    await page.getByLabel('Search events').fill('nothing has this text')
    await page.getByText('No events match').waitFor()
    expect(await layoutFaults(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test('a member reads the settings and changes none', async () => {
    const own = await openPageOf(server, 'ada', '/app/main/settings/sign-in')
    await own.getByRole('heading', { name: 'Sign-in', level: 1 }).waitFor()
    await own.getByText('Optional for members.').waitFor()

    expect(await own.getByRole('button', { name: 'Save' }).count()).toBe(0)
    expect(await own.getByRole('link', { name: 'Audit trail' }).count()).toBe(0)
    expect(await own.getByRole('link', { name: 'Delete organization' }).count()).toBe(0)
  })

  test('an organization is renamed, and deleted after its name was typed', async () => {
    await server.api('POST', '/organizations', {
      data: { type: 'organizations', attributes: { name: 'trial', email: 'trial@example.com' } },
    })

    await open('/app/trial/settings', 'General')
    await button(page, 'Rename').click()
    await page.getByText('The old name stops working').waitFor()
    await page.getByLabel('New name').fill('pilot')
    await button(page, 'Rename organization').click()
    await page.waitForURL('**/app/pilot/settings')
    await server.api('GET', '/organizations/trial', undefined, { expect: 404 })
    await open('/app/pilot/settings/delete', 'Delete organization')
    const layout = await layoutFaults(page)
    await button(page, 'Delete organization').click()
    const confirm = page.getByRole('group').getByRole('button', { name: 'Delete organization' })
    await confirm.click({ force: true })
    await server.api('GET', '/organizations/pilot', undefined, { token: ADMIN_TOKEN, expect: 200 })
    await page.getByLabel('to confirm').fill('pilot')
    await confirm.click()
    await page.waitForURL((url) => !url.pathname.startsWith('/app/pilot'))

    await server.api('GET', '/organizations/pilot', undefined, { expect: 404 })
    expect(layout).toEqual([])
  })
})
