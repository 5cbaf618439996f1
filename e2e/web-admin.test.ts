import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { connectDatabase } from '../server/src/db/connect.ts'
import { totpCode } from '../server/src/features/identity/sessions/totp.ts'
import { findPostgres } from '../server/src/postgres/postgres.ts'
import { createIdentityProvider } from '../server/src/testing/identity-provider.ts'
import { hasBrowser, openPage } from './browser.ts'
import {
  DESK,
  PASSWORD,
  PHONE,
  accessFaults,
  bootWebServer,
  createPerson,
  openAdminPage,
  openPageOf,
  overflowOf,
  watchFaults,
} from './web-page.ts'

describe.skipIf(!hasBrowser)('the site administration', async () => {
  if (!hasBrowser) return
  const provider = await createIdentityProvider()
  const server = await bootWebServer()
  provider.serve(server.url)

  /** Other tests may slow the machine down. */
  const SOON = { timeout: 10_000 }
  const users = async (query: string) => (await server.api('GET', `/admin/users?${query}`)).data
  const userOf = async (id: string) => (await server.api('GET', `/admin/users/${id}`)).data.attributes

  async function query(text: string, values: unknown[] = []) {
    await using database = await findPostgres(server.dataDir)
    const client = await connectDatabase(database.url, 'e2e')
    try {
      return (await client.query(text, values)).rows
    } finally {
      await client.end()
    }
  }

  async function overflowOnPhone(page: Page) {
    await page.setViewportSize(PHONE)
    return overflowOf(page)
  }

  const signedIn = await openAdminPage(server, '/app')
  /** The administrator's browser, which stays signed in, at `path`. */
  async function adminPage(path: string) {
    await signedIn.goto(`${server.url}${path}`)
    await signedIn.setViewportSize(DESK)
    return signedIn
  }

  /** Opens a confirmation with its button and confirms it; both often have the same name. */
  async function confirm(page: Page, label: string, action = label) {
    await page.getByRole('button', { name: label, exact: true }).click()
    await page.getByRole('group').getByRole('button', { name: action, exact: true }).click()
  }

  test('is hidden from everyone else', async () => {
    await createPerson(server, 'visitor')
    const page = await openPageOf(server, 'visitor', '/app/admin/users')

    await page.getByRole('heading', { name: 'Page not found' }).waitFor()

    const navigation = page.getByRole('navigation', { name: 'Main' })
    expect(await navigation.getByRole('link', { name: 'Administration' }).count()).toBe(0)
  })

  test('a new user gets a one-time link, and sets a password with it', async () => {
    const page = await adminPage('/app/admin/users')
    const faults = watchFaults(page, ['422'])

    await page.getByRole('button', { name: 'New user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Username').fill('admin')
    await dialog.getByLabel('Email').fill('rosalind@example.com')
    await dialog.getByRole('button', { name: 'Create user' }).click()
    const refusal = await dialog.getByRole('alert').textContent()
    await dialog.getByLabel('Username').fill('rosalind')
    await dialog.getByRole('button', { name: 'Create user' }).click()
    const link = (await dialog.getByRole('region', { name: 'the link' }).textContent()) ?? ''
    const dialogFaults = await accessFaults(page)
    await dialog.getByRole('link', { name: 'Open user' }).click()
    await page.getByRole('heading', { level: 1, name: 'rosalind' }).waitFor()
    await page.getByText('No password yet').waitFor()
    const own = await openPage()
    await own.goto(link)
    await own.getByLabel('New password').fill(PASSWORD)
    await own.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('No password yet').waitFor({ state: 'detached' })

    expect(refusal).toContain('taken')
    expect(link).toContain(`${server.url}/app/reset-password#`)
    expect(dialogFaults).toEqual([])
    expect(faults).toEqual([])
  })

  test('users are found by name and by filter, in a list of thousands', async () => {
    await query(
      `insert into users (id, username, email, created_at, updated_at)
       select 'user-bulk' || n, 'bulk-' || n, 'bulk-' || n || '@example.com', now(), now() from generate_series(1, 10000) n`,
    )
    const page = await adminPage('/app/admin/users')
    const cells = page.getByRole('table', { name: 'Users' }).getByRole('link')

    await page.getByText('of 10,0').waitFor()
    const overflow = await overflowOnPhone(page)
    const faults = await accessFaults(page)
    await page.getByLabel('Search users').fill('bulk-777')
    await page.getByText('bulk-7770', { exact: true }).waitFor()
    await page.getByLabel('Search users').fill('')
    await page.getByRole('button', { name: 'Administrators' }).click()
    await expect.poll(async () => cells.allTextContents(), SOON).toEqual(['admin'])
    const address = new URL(page.url()).search
    await page.getByLabel('Search users').fill('nobody')
    await page.getByRole('heading', { name: 'No users match' }).waitFor()

    expect(address).toBe('?filter=admins')
    expect([overflow, faults]).toEqual([0, []])
  })

  test('an account is suspended, made administrator, reset and deleted, each deliberately', async () => {
    const person = await createPerson(server, 'hedy')
    const act = async (action: string, body: unknown) =>
      server.api('POST', `/account/two-factor/actions/${action}`, body, person)
    const secret = (await act('enroll', { password: PASSWORD })).data.attributes.secret as string
    await act('verify', { otp: totpCode(secret, new Date()) })
    await server.api(
      'PATCH',
      '/account/update',
      { data: { type: 'users', attributes: { email: 'h@example.com' } } },
      person,
    )
    const page = await adminPage(`/app/admin/users/${person.id}`)
    await page.getByRole('heading', { level: 1, name: 'hedy' }).waitFor()
    const overflow = await overflowOnPhone(page)
    const faults = await accessFaults(page)

    await confirm(page, 'Confirm address')
    await expect.poll(async () => (await userOf(person.id)).email, SOON).toBe('h@example.com')
    await confirm(page, 'Reset two-factor')
    await expect.poll(async () => (await userOf(person.id))['two-factor'].enabled, SOON).toBe(false)
    await confirm(page, 'Make administrator')
    await expect.poll(async () => (await userOf(person.id))['is-admin'], SOON).toBe(true)
    await confirm(page, 'Revoke administrator')
    await expect.poll(async () => (await userOf(person.id))['is-admin'], SOON).toBe(false)
    await confirm(page, 'Suspend user')
    await expect.poll(async () => (await userOf(person.id))['is-suspended'], SOON).toBe(true)
    await confirm(page, 'Unsuspend user')
    await expect.poll(async () => (await userOf(person.id))['is-suspended'], SOON).toBe(false)
    await page.getByRole('button', { name: 'Create reset link' }).click()
    const link = await page.getByRole('region', { name: 'the link' }).textContent()
    await page.getByRole('button', { name: 'Delete user' }).click()
    await page.getByLabel('Type hedy to confirm').fill('hedy')
    await page.getByRole('group').getByRole('button', { name: 'Delete user' }).click()
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()

    expect(link).toContain('/app/reset-password#')
    expect(await users('q=hedy')).toEqual([])
    expect([overflow, faults]).toEqual([0, []])
  })

  test('administrators cannot lock themselves out', async () => {
    const [admin] = await users('filter[admin]=true')
    const page = await adminPage(`/app/admin/users/${admin.id}`)
    const names = ['Suspend user', 'Revoke administrator', 'Delete user']

    const disabled = await Promise.all(
      names.map(async (name) => page.getByRole('button', { name, exact: true }).getAttribute('aria-disabled')),
    )

    expect(disabled).toEqual(['true', 'true', 'true'])
    await page.getByRole('link', { name: 'main' }).waitFor()
    await page.getByText('only owner').waitFor()
  })

  test('the plan and the quotas of an organization are changed, and it is deleted', async () => {
    await server.api('POST', '/organizations', {
      data: { type: 'organizations', attributes: { name: 'spare', email: 's@example.com' } },
    })
    const page = await adminPage('/app/admin/organizations')
    await page.getByRole('table', { name: 'Organizations' }).waitFor()
    const listFaults = await accessFaults(page)
    await page.getByLabel('Search organizations').fill('spar')
    await page.getByRole('link', { name: 'spare', exact: true }).click()
    const field = page.getByLabel('Concurrent runs')

    await page.getByRole('radio', { name: /Standard/ }).check()
    await field.fill('many')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').first().waitFor()
    await field.fill('7')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Quotas saved').waitFor()
    const { attributes } = (await server.api('GET', '/admin/organizations/spare')).data
    const overflow = await overflowOnPhone(page)
    const faults = await accessFaults(page)
    await page.getByRole('button', { name: 'Delete organization' }).click()
    await page.getByLabel('Type spare to confirm').fill('spare')
    await page.getByRole('group').getByRole('button', { name: 'Delete organization' }).click()
    await page.getByRole('heading', { level: 1, name: 'Organizations' }).waitFor()

    expect(attributes).toMatchObject({ plan: 'standard', 'run-concurrency': 7 })
    await server.api('GET', '/admin/organizations/spare', undefined, { expect: 404 })
    expect([overflow, faults, listFaults]).toEqual([0, [], []])
  })

  test('a provider is tested, tried and saved, and passwords are disabled only after an administrator’s trial', async () => {
    provider.people.set('root', { email: 'root@example.com', email_verified: true, groups: ['owners-group'] })
    await server.api('POST', '/admin/users', { username: 'root', email: 'root@example.com', 'is-admin': true })
    provider.choose('root')
    const page = await adminPage('/app/admin/sign-in')
    const form = page.getByRole('region', { name: 'Identity provider' })
    const disable = page.getByRole('button', { name: 'Disable passwords', exact: true })

    await form.getByLabel('Issuer').fill(provider.issuer)
    await form.getByLabel('Client ID').fill(provider.settings.GROUNDSTATE_OIDC_CLIENT_ID)
    await form.getByLabel('Client secret').fill('wrong')
    await form.getByLabel('Scopes').fill(provider.settings.GROUNDSTATE_OIDC_SCOPES)
    await form.getByRole('button', { name: 'Test connection' }).click()
    await page.getByText('enter the client secret again').waitFor()
    await form.getByLabel('Client secret').fill(provider.settings.GROUNDSTATE_OIDC_CLIENT_SECRET)
    await form.getByRole('button', { name: 'Test connection' }).click()
    await page.getByText('The provider is reachable and accepts this server.').waitFor()
    const [trial] = await Promise.all([
      page.context().waitForEvent('page'),
      form.getByRole('button', { name: 'Try sign-in' }).click(),
    ])
    await trial.getByText('would sign in as root, an administrator').waitFor()
    await page.getByText('would sign in as root, an administrator').waitFor()
    const isDisabledBefore = await disable.getAttribute('aria-disabled')
    const overflow = await overflowOnPhone(page)
    const trialFaults = await accessFaults(page)
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Provider saved').waitFor()
    await confirm(page, 'Disable passwords')
    await page.getByText('Passwords disabled').waitFor()
    const methods = (await server.api('GET', '/sessions/methods')).data.attributes
    const identities = await query('select subject from sso_identities')

    // The trial has changed no account.
    expect(identities).toEqual([])
    expect(isDisabledBefore).toBe('true')
    expect(methods).toMatchObject({ password: false, sso: { name: 'single sign-on' } })
    expect([overflow, trialFaults]).toEqual([0, []])

    const other = await openPage()
    await other.goto(`${server.url}/app/sign-in`)
    await other.getByRole('link', { name: /single sign-on/ }).click()
    await other.locator('main#content').waitFor()
    await confirm(page, 'Enable passwords')
    await page.getByText('Passwords enabled').waitFor()
    await confirm(page, 'Remove provider')
    await page.getByText('None is configured').waitFor()
  })

  test('the health says what is wrong; failed jobs are retried and discarded', async () => {
    const page = await adminPage('/app/admin/jobs')
    await page.getByRole('heading', { name: 'No failed jobs' }).waitFor()
    const emptyFaults = await accessFaults(page)
    await query(
      `insert into pgboss.job (name, data, state, retry_count, retry_limit, completed_on, output)
       select 'state-versions.extract', json_build_object('id', 'sv-' || n), 'failed', 10, 10, now() - n * interval '1 minute',
              json_build_object('message', 'the disk is full: ' || repeat('x', 200))
         from generate_series(1, 60) n`,
    )
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByText('60 jobs failed within the last day.').waitFor()
    const healthOverflow = await overflowOnPhone(page)
    const healthFaults = await accessFaults(page)
    await page.getByRole('link', { name: 'Show failed jobs' }).click()
    await page.getByText('sv-1', { exact: true }).waitFor()
    const overflow = await overflowOnPhone(page)
    const faults = await accessFaults(page)

    await page.getByRole('button', { name: 'Actions for state-versions.extract' }).first().click()
    await page.getByRole('menuitem', { name: 'Discard' }).click()
    await page.getByRole('group').getByRole('button', { name: 'Discard job' }).click()
    await page.getByText('sv-1', { exact: true }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Actions for state-versions.extract' }).first().click()
    await page.getByRole('menuitem', { name: 'Retry' }).click()
    await page.getByText('sv-2', { exact: true }).waitFor({ state: 'detached' })
    await confirm(page, 'Retry all')
    await page.getByRole('heading', { name: 'No failed jobs' }).waitFor()

    const left = await query(`select count(*)::int from pgboss.job where state = 'failed'`)
    expect(left).toEqual([{ count: 0 }])
    expect([overflow, healthOverflow]).toEqual([0, 0])
    expect([emptyFaults, faults, healthFaults]).toEqual([[], [], []])
  })

  test('a version of OPA is created, corrected, kept while a policy set names it, and deleted', async () => {
    const page = await adminPage('/app/admin/opa-versions')
    const faults = watchFaults(page, ['422'])
    const row = (version: string) => page.getByRole('row', { name: new RegExp(version) })
    await row('1.4.2').getByText('latest').waitFor()

    await page.getByRole('button', { name: 'New version' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Version').fill('1.5.1')
    await dialog.getByLabel('URL').fill('file:///opa')
    await dialog.getByRole('button', { name: 'Create version' }).click()
    const refusal = await dialog.getByRole('alert').first().textContent()
    const dialogFaults = await accessFaults(page)
    await dialog.getByRole('button', { name: 'Official binaries' }).click()
    await dialog.getByLabel('Beta').check()
    await dialog.getByRole('button', { name: 'Create version' }).click()
    await row('1.5.1').getByText('beta').waitFor()
    const attributes = { name: 'pinned', kind: 'opa', 'policy-tool-version': '1.5.1' }
    const { data } = await server.api('POST', '/organizations/main/policy-sets', {
      data: { type: 'policy-sets', attributes },
    })
    await page.reload()
    await row('1.5.1').getByText('pinned of main').waitFor()
    const overflow = await overflowOnPhone(page)
    const pageFaults = await accessFaults(page)
    await page.setViewportSize(DESK)
    await row('1.5.1').getByRole('button', { name: 'Actions for 1.5.1' }).click()
    const isBlocked = await page.getByRole('menuitem', { name: 'Delete' }).getAttribute('aria-disabled')
    await page.keyboard.press('Escape')
    await server.api('DELETE', `/policy-sets/${data.id}`)
    await page.reload()
    await row('1.5.1').getByRole('button', { name: 'Actions for 1.5.1' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    await dialog.getByLabel('Enabled').uncheck()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row('1.5.1').getByText('disabled').waitFor()
    await row('1.5.1').getByRole('button', { name: 'Actions for 1.5.1' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete version' }).click()
    await row('1.5.1').waitFor({ state: 'detached' })

    expect(refusal).toMatch(/http/)
    expect(isBlocked).toBe('true')
    expect(overflow).toBe(0)
    expect([dialogFaults, pageFaults, faults]).toEqual([[], [], []])
  })

  test('the versions and the licences of all packages are listed', async () => {
    const page = await adminPage('/app/admin/about')

    await page.getByText(/^PostgreSQL/).waitFor()
    await page.getByLabel('Search packages').fill('fastify 5')
    await page.getByText('fastify', { exact: true }).click()
    await page.getByText('Permission is hereby granted').waitFor()

    expect(await overflowOnPhone(page)).toBe(0)
    expect(await accessFaults(page)).toEqual([])
  })
})
