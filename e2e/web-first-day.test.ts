import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { createIdentityProvider } from '../server/src/testing/identity-provider.ts'
import { startReceiver } from '../server/src/testing/receiver.ts'
import { runShownCommands } from './agent.ts'
import { hasBrowser, openPage } from './browser.ts'
import { hasTerraform } from './terraform.ts'
import { DESK, PASSWORD, bootWebServer, signIn, watchFaults } from './web-page.ts'

const TEAMS = ['platform', 'developers', 'auditors']
const PEOPLE = TEAMS.flatMap((team) => ['ada', 'grace', 'joan', 'mary'].map((name) => `${name}-${team}@example.com`))

/** From an empty server to a first applied run, for a team of twelve, with nothing but a browser. */
describe.skipIf(!hasBrowser || !hasTerraform)('the first day of a team of twelve', async () => {
  if (!hasBrowser || !hasTerraform) return
  const provider = await createIdentityProvider()
  const receiver = await startReceiver()
  const server = await bootWebServer()
  provider.serve(server.url)
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-first-day-'))
  atEnd(async () => rm(directory, { recursive: true, force: true }))
  const page = await openPage()
  const faults = watchFaults(page, [/401 GET .*account\/details/])
  let clicks = 0
  let invitation = ''

  const button = (name: string, at: Page = page) => at.getByRole('button', { name, exact: true })
  const go = async (name: string) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click()
  const choose = async (picker: string, text: string) => {
    await button(picker).click()
    await page.getByRole('combobox').last().fill(text)
    await page.getByRole('option', { name: text, exact: true }).click()
  }
  const list = async (path: string) => (await server.api('GET', path)).data

  beforeAll(async () => {
    await page.setViewportSize(DESK)
    await page.exposeFunction('countClick', () => (clicks += 1))
    await page.addInitScript("addEventListener('click', ({ isTrusted }) => isTrusted && window.countClick(), true)")
    await page.goto(`${server.url}/app`)
    await signIn(page, 'admin', server.adminPassword())
    await page.getByRole('heading', { level: 1, name: 'main' }).waitFor()
  })

  test('creates three teams', async () => {
    for (const team of TEAMS) {
      await go('Teams')
      await button('New team').click()
      await page.getByLabel('Name').fill(team)
      await button('Create team').click()
      await page.getByRole('heading', { level: 1, name: team }).waitFor()
    }

    expect(await list('/organizations/main/teams')).toHaveLength(4)
  })

  test('invites twelve people with links to copy', async () => {
    await go('Members')
    await button('Invite people').click()
    for (const [index, team] of TEAMS.entries()) {
      await page.getByLabel('Email addresses').fill(PEOPLE.slice(index * 4, index * 4 + 4).join('\n'))
      await choose('Add team', team)
      await button('Invite 4 people').click()
      const link = page.getByRole('region', { name: `the link for ${PEOPLE[index * 4]}` })
      invitation = (await link.textContent()) ?? ''
      await button(index < 2 ? 'Invite more' : 'Done').click()
    }

    expect(await list('/organizations/main/organization-memberships?filter[status]=invited')).toHaveLength(12)
  })

  test('creates two projects, one of them for the developers', async () => {
    for (const project of ['network', 'shop']) {
      await go('Projects')
      await button('New project').click()
      await page.getByLabel('Name').fill(project)
      await button('Create project').click()
      await page.getByRole('heading', { level: 1, name: project }).waitFor()
    }
    await page.getByRole('link', { name: /^Access/ }).click()
    await choose('Add team', 'developers')
    await page.getByRole('radio', { name: /^Write/ }).check()
    await button('Add developers').click()
    await page.getByText('developers added').waitFor()

    expect(await list('/organizations/main/projects')).toHaveLength(3)
  })

  test('sets variables for both', async () => {
    await go('Variable sets')
    await button('New variable set').first().click()
    await page.getByLabel('Name').fill('common')
    await page.getByRole('radio', { name: /^All workspaces/ }).check()
    await button('Create variable set').click()
    await button('Add variable').click()
    await page.getByLabel('Name').fill('region')
    await page.getByLabel('Value').fill('eu-west-1')
    await button('Save variable').click()
    await page.getByRole('listitem').filter({ hasText: 'eu-west-1' }).waitFor()

    expect((await list('/organizations/main/varsets'))[0].attributes.global).toBe(true)
  })

  test('starts an agent with the commands of its pool', async () => {
    await go('Agents')
    await button('New agent pool').first().click()
    await page.getByLabel('Name').fill('data-centre')
    await button('Create agent pool').click()
    await page.getByLabel('Token description').fill('rack 7')
    await button('Create token').click()
    const commands = await page.getByRole('region', { name: 'the commands for Node.js' }).innerText()
    await runShownCommands(directory, commands, 'rack-7')
    await page.getByText('rack-7 is connected').waitFor({ timeout: 30_000 })
    await button('Done').click()
    await page.getByRole('row').filter({ hasText: 'rack-7' }).getByText('Idle').waitFor()

    expect((await list('/organizations/main/agent-pools'))[0].attributes['agent-count']).toBe(1)
  })

  test('adds a run task and tests its receiver', async () => {
    await go('Run tasks')
    await button('New run task').first().click()
    await page.getByLabel('Name').fill('review')
    await page.getByLabel('URL').fill(receiver.url)
    await page.getByLabel('HMAC key').fill('secret')
    await button('Create run task').click()
    await page.getByRole('heading', { level: 1, name: 'review' }).waitFor()
    await page.getByRole('link', { name: 'Test', exact: true }).click()
    await button('Send test request').click()
    await page.getByText('Passed').waitFor()

    expect(await list('/organizations/main/tasks')).toHaveLength(1)
  })

  test('sets up single sign-on and tries it', async () => {
    await go('Administration')
    await page.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: 'Sign-in' }).click()
    const form = page.getByRole('region', { name: 'Identity provider' })
    await form.getByLabel('Issuer').fill(provider.issuer)
    await form.getByLabel('Client ID').fill(provider.settings.GROUNDSTATE_OIDC_CLIENT_ID)
    await form.getByLabel('Client secret').fill(provider.settings.GROUNDSTATE_OIDC_CLIENT_SECRET)
    await form.getByLabel('Scopes').fill(provider.settings.GROUNDSTATE_OIDC_SCOPES)
    await form.getByRole('button', { name: 'Test connection' }).click()
    await page.getByText('The provider is reachable and accepts this server.').waitFor()
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Provider saved').waitFor()

    expect((await list('/sessions/methods')).attributes.sso).not.toBeNull()
  })

  test('uploads a configuration, adds a trigger, and applies the plan', async () => {
    const configuration = join(directory, 'network')
    mkdirSync(configuration)
    writeFileSync(
      join(configuration, 'main.tf'),
      'variable "region" {}\nresource "terraform_data" "vpc" {\n  input = var.region\n}\n',
    )
    await go('Workspaces')
    await button('New workspace').first().click()
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('shop-web')
    await button('Create workspace').click()
    await page.getByRole('link', { name: 'Open shop-web' }).click()
    await page.getByRole('heading', { level: 1, name: 'shop-web' }).waitFor()
    await go('Workspaces')
    await button('Upload configuration').first().click()
    await page.getByRole('dialog').getByLabel('Folder', { exact: true }).setInputFiles(configuration)
    await button('Upload and create run').click()
    await page.waitForURL(/\/workspaces\/network\/runs\/run-/)
    const runUrl = page.url()
    await button('Confirm & apply').waitFor({ timeout: 60_000 })
    await go('Run triggers')
    await button('New run trigger').first().click()
    await choose('Select source', 'network')
    await choose('Select destination', 'shop-web')
    await button('Create run trigger').click()
    await page.getByText('2 workspaces, 1 trigger').waitFor()
    await page.goto(runUrl)
    await button('Confirm & apply').click()
    await page.getByRole('group').getByRole('button', { name: 'Apply' }).click()
    await page.getByText('The changes were applied').waitFor({ timeout: 60_000 })
    const { data: workspace } = await server.api('GET', '/organizations/main/workspaces/network')

    expect(workspace.attributes['resource-count']).toBe(1)
    console.log(`a team of twelve is set up with ${clicks} clicks`)
    expect(clicks).toBeLessThan(80)
    expect(faults).toEqual([])
  })

  test('an invited person joins', async () => {
    const other = await openPage()
    await other.goto(invitation)
    await other.getByLabel('Username').fill('ada')
    await other.getByLabel('New password').fill(PASSWORD)
    await button('Create account and join', other).click()
    await other.waitForURL('**/app/main')

    expect(await list('/organizations/main/organization-memberships?filter[status]=active')).toHaveLength(2)
  })
})
