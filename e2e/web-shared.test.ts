import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { runShownCommands } from './agent.ts'
import { hasBrowser } from './browser.ts'
import {
  accessFaults,
  bootWebServer,
  createMember,
  openAdminPage,
  openPageOf,
  overflowOf,
  PHONE,
  watchFaults,
} from './web-page.ts'

/** Violations of accessibility and horizontal overflow on a phone, of a page after loading. */
async function faultsOf(page: Page) {
  await page
    .getByRole('status', { name: /^Loading/ })
    .first()
    .waitFor({ state: 'detached' })
  const found = await accessFaults(page)
  await page.setViewportSize(PHONE)
  const overflow = await overflowOf(page)
  await page.setViewportSize({ width: 1440, height: 900 })
  return { found, overflow }
}

const NONE = { found: [], overflow: 0 }

describe.skipIf(!hasBrowser)('resources that workspaces share', async () => {
  if (!hasBrowser) return
  const server = await bootWebServer()
  const page = await openAdminPage(server, '/app/main/projects')
  const faults = watchFaults(page, [/409 DELETE/, /422 POST/])
  const open = async (path: string) => page.goto(`${server.url}/app/main/${path}`)
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' })
  const choose = async (picker: string, text: string) => {
    await button(picker).click()
    await page.getByRole('dialog').getByRole('combobox').fill(text)
    await page.getByRole('option', { name: text, exact: true }).click()
  }
  const act = async (row: string, action: string) => {
    await button(`Actions for ${row}`).click()
    await page.getByRole('menuitem', { name: action }).click()
  }
  const create = async (path: string, type: string, attributes: object, relationships = {}) =>
    (await server.api('POST', path, { data: { type, attributes, relationships } })).data
  const newWorkspace = async (name: string, projectId?: string) =>
    create(
      '/organizations/main/workspaces',
      'workspaces',
      { name },
      projectId === undefined ? {} : { project: { data: { type: 'projects', id: projectId } } },
    )
  const idInAddress = () => new URL(page.url()).pathname.split('/').at(-1) ?? ''

  describe('a project', () => {
    let projectId: string

    test('is created, and workspaces and teams are added', async () => {
      await newWorkspace('ledger')
      await create('/organizations/main/teams', 'teams', { name: 'auditors' })
      const empty = await faultsOf(page)

      await button('New project').click()
      await page.getByLabel('Name').fill('Default Project')
      await button('Create project').click()
      await page.getByRole('dialog').getByRole('alert').waitFor()
      await page.getByLabel('Name').fill('payments')
      await button('Create project').click()
      await page.getByRole('heading', { name: 'No workspaces in this project' }).waitFor()
      projectId = idInAddress()
      await choose('Move workspace here', 'ledger')
      await button('Move workspace').click()
      await page.getByRole('link', { name: 'ledger', exact: true }).waitFor()
      await page.getByRole('link', { name: /^Access/ }).click()
      await choose('Add team', 'auditors')
      await page.getByLabel('Custom').check()
      await page.getByLabel('States', { exact: true }).selectOption('read-outputs')
      await page.getByLabel('creates workspaces').check()
      await button('Add auditors').click()
      await page.getByText('Sees runs, sees outputs, creates workspaces.').waitFor()

      const { data: workspace } = await server.api('GET', '/organizations/main/workspaces/ledger')
      const { data: grants } = await server.api('GET', `/team-projects?filter[project][id]=${projectId}`)
      expect(workspace.relationships.project.data.id).toBe(projectId)
      expect(grants[0].attributes).toMatchObject({
        access: 'custom',
        'workspace-access': { 'state-versions': 'read-outputs', create: true, delete: false },
      })
      expect(empty).toEqual(NONE)
    })

    test('has settings and tags, and can be deleted only when it is empty', async () => {
      const pool = await create('/organizations/main/agent-pools', 'agent-pools', { name: 'for-payments' })
      await open(`projects/${projectId}?tab=settings`)
      await page.getByLabel('Description').fill('Cards and ledgers')
      await page.getByRole('region', { name: 'General' }).getByRole('button', { name: 'Save' }).click()
      await page.getByRole('main').getByText('Cards and ledgers').first().waitFor()
      const execution = page.getByRole('region', { name: 'Default execution mode' })
      await execution.getByRole('radio', { name: /^Agent/ }).check()
      await execution.getByLabel('Agent pool').selectOption(pool.id)
      await execution.getByRole('button', { name: 'Save' }).click()
      await execution.getByRole('button', { name: 'Discard changes' }).waitFor({ state: 'detached' })
      await execution.getByRole('radio', { name: /^Inherit from organization/ }).check()
      await execution.getByRole('button', { name: 'Save' }).click()
      await execution.getByRole('button', { name: 'Discard changes' }).waitFor({ state: 'detached' })
      await button('Add tag').click()
      await page.getByPlaceholder('Key').fill('team')
      await page.getByPlaceholder('Value (optional)').fill('payments')
      await page.getByRole('region', { name: 'Tags' }).getByRole('button', { name: 'Save' }).click()
      await page.getByText('team: payments').waitFor()
      const reason = await button('Delete project').getAttribute('data-tooltip')
      const settings = await faultsOf(page)

      const { data } = await server.api('GET', `/projects/${projectId}`)
      expect(data.attributes).toMatchObject({ 'default-execution-mode': 'remote', description: 'Cards and ledgers' })
      expect(data.attributes['setting-overwrites']['default-execution-mode']).toBe(false)
      expect(reason).toBe('it has 1 workspace: move or delete it first')
      expect(settings).toEqual(NONE)
    })

    test('an empty project is deleted after typing its name', async () => {
      const { id } = await create('/organizations/main/projects', 'projects', { name: 'old' })
      await open(`projects/${id}?tab=settings`)
      await button('Delete project').click()
      await page.getByLabel('Type old to confirm').fill('old')
      await button('Delete old').click()
      await page.waitForURL('**/app/main/projects')

      const { errors } = await server.api('GET', `/projects/${id}`, undefined, { expect: 404 })
      expect(errors[0].detail).toContain('project not found')
    })
  })

  describe('a variable set', () => {
    test('is created, gets variables, applies to a project, and shows where it is overridden', async () => {
      const project = (await server.api('GET', '/organizations/main/projects?q=payments')).data[0]
      await open('variable-sets')
      await page.getByRole('heading', { name: 'No variable sets yet' }).waitFor()
      const empty = await faultsOf(page)
      await button('New variable set').first().click()
      await page.getByLabel('Name').fill('Defaults')
      await button('Create variable set').click()
      await page.getByRole('heading', { name: 'No variables in this set' }).waitFor()
      const setId = idInAddress()
      await button('Add variable').click()
      await page.getByLabel('Name').fill('region')
      await page.getByLabel('Value').fill('eu')
      await button('Save variable').click()
      await page.getByRole('listitem').filter({ hasText: 'region' }).getByText('eu', { exact: true }).waitFor()
      const { data: ledger } = await server.api('GET', '/organizations/main/workspaces/ledger')
      await create(`/workspaces/${ledger.id}/vars`, 'vars', { key: 'region', value: 'us', category: 'terraform' })
      await page.getByRole('link', { name: 'Scope' }).click()
      await page.getByRole('heading', { name: 'The set applies to no workspace yet' }).waitFor()
      await choose('Add project', 'payments')
      const row = page.getByRole('row').filter({ hasText: 'ledger' })
      await row.getByText('by the workspace').waitFor()
      const through = await row.innerText()
      const filled = await faultsOf(page)

      const { data } = await server.api('GET', `/varsets/${setId}`)
      expect(data.relationships.projects.data).toEqual([{ id: project.id, type: 'projects' }])
      expect(through).toContain('project payments')
      expect({ empty, filled }).toEqual({ empty: NONE, filled: NONE })
    })

    test('a variable of a workspace leads to its set, whose settings change precedence', async () => {
      await open('workspaces/ledger/variables')
      await page.getByRole('link', { name: 'set Defaults' }).click()
      await page.getByRole('heading', { name: 'Defaults', level: 1 }).waitFor()
      await page.getByRole('link', { name: 'Settings', exact: true }).last().click()
      await page.getByLabel('Priority').check()
      await button('Save').click()
      await page.getByText('priority', { exact: true }).first().waitFor()
      await page.getByRole('link', { name: 'Scope' }).click()
      await page.getByRole('radio', { name: /^All workspaces/ }).check()
      await button('Save').click()
      const row = page.getByRole('row').filter({ hasText: 'ledger' })
      await row.getByText('none').waitFor()
      await page.getByRole('link', { name: 'Settings', exact: true }).last().click()
      await button('Delete variable set').click()
      await page.getByLabel('Type Defaults to confirm').fill('Defaults')
      await button('Delete Defaults').click()
      await page.waitForURL('**/app/main/variable-sets')

      expect((await server.api('GET', '/organizations/main/varsets')).data).toEqual([])
    })

    test('is not read again while its page is left, even if the deletion is reported before its response', async () => {
      const set = await create('/organizations/main/varsets', 'varsets', { name: 'Leaving', global: false })
      const list = await page.context().newPage()
      await list.goto(`${server.url}/app/main/variable-sets`)
      const row = list.getByRole('row').filter({ hasText: 'Leaving' })
      await row.waitFor()
      await open(`variable-sets/${set.id}?tab=settings`)
      await page.route(`**/varsets/${set.id}`, async (route) => {
        const response = await route.fetch()
        // Both tabs get the report at the same time, and the other one has read the list since.
        await row.waitFor({ state: 'detached' })
        await route.fulfill({ response })
      })
      await button('Delete variable set').click()
      await button('Delete Leaving').click()
      await page.waitForURL('**/app/main/variable-sets')
      await list.close()

      expect(faults).toEqual([])
    })

    test('a project owns a set', async () => {
      const project = (await server.api('GET', '/organizations/main/projects?q=payments')).data[0]
      await open(`projects/${project.id}?tab=variable-sets`)
      await page.getByRole('link', { name: 'New variable set' }).first().click()
      await page.getByRole('dialog').getByText('The set belongs to payments').waitFor()
      await page.getByLabel('Name').fill('Ledger')
      await button('Create variable set').click()
      await page.getByRole('heading', { name: 'Ledger', level: 1 }).waitFor()
      const { data } = await server.api('GET', `/varsets/${idInAddress()}`)

      expect(data.relationships.parent.data).toEqual({ id: project.id, type: 'projects' })
    })
  })

  describe('an agent pool', () => {
    const npm = ['/usr/bin/npm', '/usr/local/bin/npm'].find((path) => existsSync(path))

    test.skipIf(npm === undefined)('an agent started by the shown commands is connected', async () => {
      const directory = await mkdtemp(join(tmpdir(), 'groundstate-agent-'))
      atEnd(() => rm(directory, { recursive: true, force: true }))
      await open('agents')
      await page.getByRole('region', { name: 'Built-in agents' }).getByText('Online').waitFor()
      await button('New agent pool').click()
      await page.getByLabel('Name').fill('data centre')
      await button('Create agent pool').click()
      await page.getByRole('dialog').getByRole('alert').waitFor()
      await page.getByLabel('Name').fill('data-centre')
      await button('Create agent pool').click()
      await page.getByLabel('Token description').fill('rack 7')
      await button('Create token').click()
      await page.getByText('Waiting for the agent to connect').waitFor()
      const dialog = await accessFaults(page)
      const commands = await page.getByRole('region', { name: 'the commands for Node.js' }).innerText()
      await runShownCommands(directory, commands, 'rack-7')
      await page.getByText('rack-7 is connected').waitFor()
      await button('Done').click()
      const row = page.getByRole('row').filter({ hasText: 'rack-7' })
      await row.getByText('Idle').waitFor()
      await button('Actions for rack-7').click()
      const reason = await page.getByRole('menuitem', { name: 'Delete agent' }).innerText()
      await page.keyboard.press('Escape')
      const listed = await faultsOf(page)

      const { data } = await server.api('GET', `/agent-pools/${idInAddress()}/authentication-tokens`)
      expect(data[0].attributes.description).toBe('rack 7')
      expect(reason).toContain('it is idle')
      expect(dialog).toEqual([])
      expect(listed).toEqual(NONE)
    })

    test('is limited to a workspace, and not deleted while it is used', async () => {
      const pool = await create('/organizations/main/agent-pools', 'agent-pools', { name: 'dmz' })
      const workspace = await newWorkspace('edge')
      await open(`agents/${pool.id}?tab=scope`)
      await page.getByRole('radio', { name: /^Selected projects/ }).check()
      await button('Save').click()
      await button('Discard changes').waitFor({ state: 'detached' })
      const allowed = page.getByText('Allowed workspaces', { exact: true }).locator('..')
      await allowed.getByRole('button', { name: 'Add workspace' }).click()
      await page.getByRole('dialog').getByRole('combobox').fill('edge')
      await page.getByRole('option', { name: 'edge', exact: true }).click()
      await allowed.getByRole('link', { name: 'edge' }).waitFor()
      const scope = await faultsOf(page)
      await server.api('PATCH', '/organizations/main', {
        data: {
          type: 'organizations',
          attributes: { 'default-execution-mode': 'agent' },
          relationships: { 'default-agent-pool': { data: { type: 'agent-pools', id: pool.id } } },
        },
      })
      await page.getByRole('link', { name: 'Settings', exact: true }).last().click()
      await button('Delete agent pool').click()
      await page.getByLabel('Type dmz to confirm').fill('dmz')
      await button('Delete dmz').click()
      await page.getByText('the agent pool dmz is used by the organization main').waitFor()
      await server.api('PATCH', '/organizations/main', {
        data: { type: 'organizations', attributes: { 'default-execution-mode': 'remote' } },
      })
      await button('Delete dmz').click()
      await page.waitForURL('**/app/main/agents')

      await server.api('GET', `/agent-pools/${pool.id}`, undefined, { expect: 404 })
      expect(workspace.id).toBeDefined()
      expect(scope).toEqual(NONE)
    })
  })

  test('tags are counted and lead to their workspaces, and a key is reserved', async () => {
    const { data: edge } = await server.api('GET', '/organizations/main/workspaces/edge')
    await server.api('POST', `/workspaces/${edge.id}/relationships/tags`, {
      data: [{ type: 'tags', attributes: { name: 'public' } }],
    })
    await open('settings/tags')
    await page.getByText('team: payments').waitFor()
    await button('Reserve key').click()
    await page.getByRole('textbox', { name: 'Key' }).fill('team')
    await button('Reserve key').click()
    await page.getByText('Workspaces use the value of their project.').waitFor()
    await act('public', 'Delete tag')
    await button('Delete tag').click()
    await page.getByText('public', { exact: true }).waitFor({ state: 'detached' })
    const shown = await faultsOf(page)
    await page.getByRole('row').filter({ hasText: 'team: payments' }).getByRole('link', { name: '1' }).click()
    await page.getByRole('link', { name: 'ledger', exact: true }).waitFor()

    const { data } = await server.api('GET', '/organizations/main/reserved-tag-keys')
    expect(data.map(({ attributes }: any) => [attributes.key, attributes['disable-overrides']])).toEqual([
      ['team', true],
    ])
    expect(shown).toEqual(NONE)
  })

  test('projects are searched and paged by the server', async () => {
    const names = Array.from({ length: 60 }, (_, n) => `many-${String(n).padStart(2, '0')}`)
    await Promise.all(names.map(async (name) => create('/organizations/main/projects', 'projects', { name })))
    await open('projects')
    await page.getByText('1 to 50 of 62').waitFor()
    await button('Next').click()
    await page.waitForURL('**page=2*')
    await page.getByLabel('Search projects').fill('many-59')
    await page.waitForURL('**q=many-59*')
    await page.getByText('many-58', { exact: true }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'many-59' }).waitFor()
    const address = page.url()
    const matching = await page.getByRole('row').count()
    await page.getByLabel('Search projects').fill('nothing')
    await page.getByRole('heading', { name: 'No projects match' }).waitFor()
    await button('Clear filters').click()
    await page.getByText('1 to 50 of 62').waitFor()

    expect(address).toContain('q=many-59')
    expect(address).not.toContain('page=2')
    expect(matching).toBe(2)
    expect(await faultsOf(page)).toEqual(NONE)
  })

  test('a reader sees settings without forms, and no actions', async () => {
    const project = (await server.api('GET', '/organizations/main/projects?q=payments')).data[0]
    const { teamId } = await createMember(server, 'reader', {})
    await create(
      '/team-projects',
      'team-projects',
      { access: 'read' },
      { team: { data: { type: 'teams', id: teamId } }, project: { data: { type: 'projects', id: project.id } } },
    )
    const own = await openPageOf(server, 'reader', `/app/main/projects/${project.id}`)
    await own.getByRole('link', { name: 'ledger', exact: true }).waitFor()
    const forms = async (path: string) => {
      await own.goto(`${server.url}/app/main/${path}`)
      await own.getByRole('heading', { level: 1 }).waitFor()
      await own
        .getByRole('status', { name: /^Loading/ })
        .first()
        .waitFor({ state: 'detached' })
      return own.getByRole('button', { name: /^(?:New|Save|Delete|Add|Start|Move|Reserve|Actions)/ }).count()
    }

    expect(await forms(`projects/${project.id}?tab=settings`)).toBe(0)
    expect(await forms(`projects/${project.id}?tab=access`)).toBe(0)
    expect(await forms('variable-sets')).toBe(0)
    expect(await forms('agents')).toBe(0)
    expect(faults).toEqual([])
  })
})
