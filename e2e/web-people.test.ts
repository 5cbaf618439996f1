import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { startMailServer } from '../server/src/testing/mail-server.ts'
import { freePort } from '../server/src/testing/ports.ts'
import { hasBrowser, openPage } from './browser.ts'
import {
  accessFaults,
  bootWebServer,
  createMember,
  createPerson,
  DESK,
  openAdminPage,
  openPageOf,
  overflowOf,
  PASSWORD,
  PHONE,
  watchFaults,
} from './web-page.ts'

const NEW_PASSWORD = 'another good password'

describe.skipIf(!hasBrowser)('people', async () => {
  if (!hasBrowser) return
  const port = await freePort()
  const mail = await startMailServer(port)
  const server = await bootWebServer({
    GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${port}`,
    GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
  })
  const { api } = server

  const create = async (path: string, type: string, attributes: object, relationships: object = {}) =>
    (await api('POST', path, { data: { type, attributes, relationships } })).data
  const createTeam = async (name: string) =>
    create('/organizations/main/teams', 'teams', { name, visibility: 'organization' })
  const createWorkspace = async (name: string) => create('/organizations/main/workspaces', 'workspaces', { name })
  const grant = async (team: { id: string }, workspace: { id: string }, access: string) =>
    create(
      '/team-workspaces',
      'team-workspaces',
      { access },
      {
        team: { data: { type: 'teams', id: team.id } },
        workspace: { data: { type: 'workspaces', id: workspace.id } },
      },
    )
  const invite = async (email: string) =>
    create('/organizations/main/organization-memberships', 'organization-memberships', { email })
  const memberships = async (query: string) =>
    (await api('GET', `/organizations/main/organization-memberships?${query}`)).data
  const choose = async (page: Page, picker: string, text: string) => {
    await page.getByRole('button', { name: picker, exact: true }).click()
    await page.getByRole('option', { name: text }).click()
  }
  const act = async (page: Page, row: string, action: string) => {
    await page.getByRole('button', { name: `Actions for ${row}` }).click()
    await page.getByRole('menuitem', { name: action }).click()
  }
  const mailTo = async (address: string) => {
    await expect.poll(() => mail.to(address).length, { timeout: 20_000 }).toBeGreaterThan(0)
    return mail.to(address).at(-1)?.text ?? ''
  }
  /** Violations, and overflow on a phone. */
  const faultsOf = async (page: Page) => {
    const faults = await accessFaults(page)
    await page.setViewportSize(PHONE)
    const overflow = await overflowOf(page)
    await page.setViewportSize(DESK)
    return [...faults, ...(overflow > 0 ? [`${overflow} px wider than a phone`] : [])]
  }

  const owner = await openAdminPage(server, '/app/main/members')

  test('an invited person opens the link elsewhere, creates an account, and sees what the team may see', async () => {
    const team = await createTeam('invited-team')
    const [visible] = [await createWorkspace('visible'), await createWorkspace('hidden')]
    await grant(team, visible, 'read')
    const faults = watchFaults(owner)
    const alone = await faultsOf(owner)

    await owner.getByRole('button', { name: 'Invite people' }).click()
    await owner.getByLabel('Email addresses').fill('Nora <nora@example.com>, "Second, S." <second@example.com>')
    await choose(owner, 'Add team', 'invited-team')
    const form = await accessFaults(owner)
    await owner.mouse.click(5, 5)
    await owner.getByRole('button', { name: 'Invite 2 people' }).click()
    const shown = owner.getByRole('region', { name: 'the link for nora@example.com' })
    await shown.waitFor()
    await owner.mouse.click(5, 5)
    await owner.keyboard.press('Escape')
    const link = await shown.textContent()
    await owner.getByRole('button', { name: 'Done' }).click()

    const page = await openPage()
    await page.setViewportSize(DESK)
    await page.goto(link ?? '')
    await page.getByLabel('Username').fill('nora')
    const invitation = await faultsOf(page)
    await page.getByLabel('New password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Create account and join' }).click()
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Workspaces' }).click()
    await page.getByRole('link', { name: 'visible' }).waitFor()
    const sidebar = await page.getByRole('navigation', { name: 'main' }).or(page.locator('aside')).first().innerText()

    expect([alone, form, invitation, faults]).toEqual([[], [], [], []])
    expect(await page.getByRole('link', { name: 'hidden' }).count()).toBe(0)
    expect(sidebar).not.toContain('Members')
    expect(await mailTo('second@example.com')).toContain('admin invites you to the organization main')
    const [member] = await memberships('q=nora&filter[status]=active')
    expect(member.relationships.teams.data).toEqual([{ id: team.id, type: 'teams' }])
    await page.goto(link ?? '')
    await page.reload()
    await page.getByText('The invitation is invalid').waitFor()
  })

  test('a mailed invitation is accepted with another account, after signing in', async () => {
    await createPerson(server, 'petra')
    await invite('petra.at.work@example.com')
    const url = /http\S+/.exec(await mailTo('petra.at.work@example.com'))?.[0] ?? ''
    const page = await openPage()

    await page.goto(url)
    await page.getByRole('link', { name: 'Sign in to accept' }).click()
    await page.getByLabel('Username or email').fill('petra')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: 'Join as petra' }).click()
    await page.waitForURL('**/app/main')

    expect(await memberships('q=petra&filter[status]=active')).toHaveLength(1)
    await owner.getByRole('button', { name: 'Invite people' }).click()
    await owner.getByLabel('Email addresses').fill('petra@example.com')
    await owner.getByRole('button', { name: 'Invite', exact: true }).click()
    await owner.getByText('Already a member: petra.').waitFor()
    await owner.getByRole('link', { name: 'Add them to teams' }).click()
    await owner.getByRole('heading', { name: 'petra', level: 1 }).waitFor()
  })

  test('members are found, resent to, and removed', async () => {
    for (let index = 0; index < 20; index += 1) await invite(`guest-${index}@example.com`)
    await owner.goto(`${server.url}/app/main/members`)
    await owner.getByRole('link', { name: 'guest-19@example.com' }).waitFor()
    const faults = await faultsOf(owner)

    await owner.getByRole('button', { name: /^Invited/ }).click()
    await owner.getByLabel('Search members').fill('guest-7')
    await expect.poll(async () => owner.getByRole('row').count()).toBe(2)
    await act(owner, 'guest-7@example.com', 'Resend invitation')
    await owner.getByRole('button', { name: 'Create link' }).click()
    const link = await owner.getByRole('region', { name: 'the link for guest-7@example.com' }).textContent()
    await owner.getByRole('button', { name: 'Done' }).click()
    await act(owner, 'guest-7@example.com', 'Withdraw invitation')
    await owner.getByRole('button', { name: 'Withdraw', exact: true }).click()
    await owner.getByText('No members match').waitFor()

    expect(faults).toEqual([])
    expect(link).toContain(`${server.url}/app/invitation#`)
    expect(await memberships('q=guest-7')).toEqual([])
    expect(new URL(owner.url()).search).toBe('?status=invited&q=guest-7')
  })

  test('a member’s page says what they may do where, and through which team', async () => {
    const { id: workspaceId } = await createWorkspace('kafka')
    await createMember(server, 'ada', { workspaceId, access: 'write' })
    await createTeam('second-team')
    const [{ id }] = await memberships('q=ada@')

    await owner.goto(`${server.url}/app/main/members/${id}`)
    await owner.getByRole('link', { name: 'kafka' }).waitFor()
    const text = await owner.getByRole('region', { name: 'Workspaces' }).innerText()
    const faults = await faultsOf(owner)
    await choose(owner, 'Add to team', 'second-team')
    await owner.getByRole('link', { name: 'second-team' }).waitFor()
    await act(owner, 'team-of-ada', 'Remove from team')
    await owner.getByRole('button', { name: 'Remove', exact: true }).click()
    await owner.getByText('No access to single workspaces.').waitFor()

    expect(text).toContain('Starts and approves runs')
    expect(text).toContain('Through the team team-of-ada')
    expect(faults).toEqual([])
    const [{ relationships }] = await memberships('q=ada@&include=teams')
    expect(relationships.teams.data).toHaveLength(1)
  })

  test('the last owner can’t leave, and sees the reason', async () => {
    const [{ id }] = await memberships('q=admin@')

    await owner.goto(`${server.url}/app/main/members/${id}`)
    await owner.getByRole('button', { name: 'Actions for admin' }).click()
    const leave = await owner.getByRole('menuitem', { name: 'Leave organization' }).getAttribute('aria-disabled')
    await owner.keyboard.press('Escape')
    await owner.getByRole('button', { name: 'Actions for owners' }).click()
    const item = owner.getByRole('menuitem', { name: 'Leave team' })

    expect(leave).toBe('true')
    expect(await item.innerText()).toContain('add another owner first')
  })

  test('a team is created, gets members, permissions and access, and is deleted', async () => {
    await createWorkspace('billing')
    const { username } = await createMember(server, 'grace', {})

    await owner.goto(`${server.url}/app/main/teams`)
    await owner.getByRole('button', { name: 'New team' }).click()
    await owner.getByLabel('Name').fill('platform')
    await owner.getByRole('button', { name: 'Create team' }).click()
    await owner.getByText('No members yet').waitFor()
    const empty = await faultsOf(owner)
    await owner.getByRole('button', { name: 'Add member' }).click()
    await owner.getByRole('combobox').fill(username)
    await owner.getByRole('option', { name: username, selected: true }).waitFor()
    await owner.keyboard.press('Enter')
    await owner.getByRole('link', { name: username }).waitFor()
    const tab = async (name: string) =>
      owner.getByRole('navigation', { name: 'Team' }).getByRole('link', { name }).click()
    await tab('Permissions')
    await owner.getByLabel('Manage all projects').check()
    const isIncluded = await owner.getByLabel('Manage all workspaces').isChecked()
    await owner.getByRole('button', { name: 'Save' }).click()
    await owner.getByText('Permissions saved').waitFor()
    const permissions = await faultsOf(owner)
    await tab('Access')
    await choose(owner, 'Add workspace', 'billing')
    await owner.getByLabel('Write').check()
    await owner.getByRole('button', { name: 'Add billing' }).click()
    await owner.getByRole('link', { name: 'billing' }).waitFor()
    await owner.locator('button:focus', { hasText: 'Add workspace' }).waitFor()
    const access = await faultsOf(owner)
    const [team] = (await api('GET', '/organizations/main/teams?filter[names]=platform')).data
    const grants = (await api('GET', `/team-workspaces?filter[team][id]=${team.id}`)).data
    await act(owner, 'billing', 'Remove access')
    await owner.getByRole('button', { name: 'Remove access' }).click()
    await owner.getByText('No access to single workspaces.').waitFor()
    await tab('Settings')
    const settings = await faultsOf(owner)
    await owner.getByRole('button', { name: 'Delete team' }).click()
    await owner.getByLabel('Type platform to confirm').fill('platform')
    await owner.getByRole('button', { name: 'Delete team' }).click()
    await owner.getByRole('heading', { name: 'Teams', level: 1 }).waitFor()
    const list = await faultsOf(owner)

    expect([empty, permissions, access, settings, list]).toEqual([[], [], [], [], []])
    expect(isIncluded).toBe(true)
    expect(team.attributes['organization-access']).toMatchObject({
      'manage-projects': true,
      'manage-workspaces': true,
      'manage-teams': false,
    })
    expect(grants.map(({ attributes }: any) => attributes.access)).toEqual(['write'])
    expect((await api('GET', '/organizations/main/teams?filter[names]=platform')).data).toEqual([])
  })

  test('members see visible teams without what only managers may do', async () => {
    await createMember(server, 'reader', {})
    const page = await openPageOf(server, 'reader', '/app/main/teams')
    await page.getByRole('link', { name: 'team-of-reader' }).click()
    await page.getByText('reader').first().waitFor()

    expect(await page.getByRole('button', { name: 'Add member' }).count()).toBe(0)
    await page.goto(`${server.url}/app/main/members`)
    await page.getByRole('heading', { name: 'Members not found' }).waitFor()
  })

  test('a forgotten password is reset by mail', async () => {
    await createPerson(server, 'oskar')
    const page = await openPage()
    await page.setViewportSize(DESK)

    await page.goto(`${server.url}/app/sign-in`)
    await page.getByRole('link', { name: 'Forgot password?' }).click()
    await page.getByLabel('Username or email').fill('oskar')
    const request = await faultsOf(page)
    await page.getByRole('button', { name: 'Send link' }).click()
    await page.getByText('an email is on its way').waitFor()
    await page.goto(/http\S+#\S+/.exec(await mailTo('oskar@example.com'))?.[0] ?? '')
    await page.getByLabel('New password').fill(NEW_PASSWORD)
    const form = await faultsOf(page)
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('Password set').waitFor()
    const own = await openPageOf(server, 'oskar', '/app/settings/account', NEW_PASSWORD)

    expect([request, form]).toEqual([[], []])
    await own.getByRole('heading', { level: 1 }).waitFor()
  })
})
