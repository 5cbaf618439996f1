import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { hmac, startReceiver, type TestReceiver } from '../server/src/testing/receiver.ts'
import { hasBrowser } from './browser.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import type { BootedServer } from './server.ts'
import { bootWebServer, createMember, layoutFaults, openAdminPage, openPageOf, watchFaults } from './web-page.ts'
import { button, region } from './workspace-page.ts'

let server: BootedServer
let page: Page
let faults: string[]
let receiver: TestReceiver
let web: { id: string }

beforeAll(async () => {
  if (!hasBrowser) return
  receiver = await startReceiver()
  server = await bootWebServer()
  web = await remoteWorkspace(server, { name: 'web', configuration: 'output "a" { value = 1 }\n' })
  page = await openAdminPage(server, '/app/main/run-tasks')
  faults = watchFaults(page, ['422 POST', '409 '])
})

async function open(path: string, title: string) {
  await page.goto(`${server.url}/app/main${path}`)
  await page.getByRole('heading', { name: title, level: 1 }).waitFor()
}

async function createTask(name: string, attributes: object = {}): Promise<string> {
  const { data } = await server.api('POST', '/organizations/main/tasks', {
    data: { type: 'tasks', attributes: { name, url: receiver.url, category: 'task', ...attributes } },
  })
  return data.id
}

async function attach(workspaceId: string, task: string, attributes: object) {
  await server.api('POST', `/workspaces/${workspaceId}/tasks`, {
    data: {
      type: 'workspace-tasks',
      attributes,
      relationships: { task: { data: { type: 'tasks', id: task } } },
    },
  })
}

async function createWorkspace(name: string): Promise<string> {
  const { data } = await server.api('POST', '/organizations/main/workspaces', {
    data: { type: 'workspaces', attributes: { name } },
  })
  return data.id
}

type Attachment = { attributes: { stages: string[]; 'enforcement-level': string } }

/** Stages and level of the tasks attached to a workspace. */
async function attachments(workspaceId: string) {
  const { data } = await server.api('GET', `/workspaces/${workspaceId}/tasks`)
  return data.map(({ attributes }: Attachment) => [...attributes.stages, attributes['enforcement-level']].join(' '))
}

describe.skipIf(!hasBrowser)('run tasks of an organization', () => {
  test('the first one is created from the empty page, after its receiver was verified', async () => {
    await open('/run-tasks', 'Run tasks')
    await page.getByRole('heading', { name: 'No run tasks yet' }).waitFor()
    const empty = await layoutFaults(page)
    await button(page, 'New run task').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('policy check')
    await dialog.getByLabel('URL').fill('http://127.0.0.1:1/nobody')
    await dialog.getByRole('button', { name: 'Create run task' }).click()
    const refusal = await dialog.getByRole('alert').textContent()
    await dialog.getByLabel('Name').fill('policy-check')
    await dialog.getByLabel('URL').fill(receiver.url)
    await dialog.getByLabel('HMAC key').fill('secret')
    await dialog.getByRole('button', { name: 'Create run task' }).click()
    await page.getByRole('heading', { name: 'policy-check', level: 1 }).waitFor()
    await page.getByRole('heading', { name: 'Not attached to a workspace' }).waitFor()

    const [task] = (await server.api('GET', '/organizations/main/tasks')).data
    expect(empty).toEqual([])
    expect(refusal).toContain('policy check')
    expect(task.attributes).toMatchObject({ name: 'policy-check', 'has-hmac-key': true, enabled: true })
    expect(receiver.tests).toHaveLength(1)
    expect(await page.title()).toBe('policy-check · attachments · Groundstate')
    expect(await layoutFaults(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test('a cell of the matrix attaches the task, changes its level and detaches it', async () => {
    const cell = (name: string) => page.getByRole('button', { name: `web, ${name}. Change` })
    const choose = async (name: string) => page.getByRole('menuitem', { name }).click()

    await button(page, 'Select workspaces').click()
    await cell('Post-plan: not called').click()
    await choose('Advisory')
    await cell('Post-plan: Advisory').waitFor()
    const first = await attachments(web.id)
    await cell('Pre-plan: not called').click()
    await choose('Mandatory')
    await cell('Pre-plan: Mandatory').waitFor()
    const second = await attachments(web.id)
    await cell('Post-plan: Mandatory').click()
    await choose('Not called')
    await button(page, 'Remove stage').click()
    await cell('Post-plan: not called').waitFor()
    const third = await attachments(web.id)
    await button(page, 'Undo').first().click()
    await cell('Post-plan: Mandatory').waitFor()

    expect([first, second, third]).toEqual([
      ['post_plan advisory'],
      ['pre_plan post_plan mandatory'],
      ['pre_plan mandatory'],
    ])
    expect(await attachments(web.id)).toEqual(['pre_plan post_plan mandatory'])
    expect(await layoutFaults(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test('deliveries show the exchange, are filtered, and redelivered', async () => {
    receiver.onRequest = (_, response) => response.writeHead(receiver.requests.length === 1 ? 503 : 200).end('received')
    await startRun(server, web as Parameters<typeof startRun>[1])
    const { body, headers } = await receiver.received(2)

    await page.getByRole('link', { name: 'Deliveries' }).click()
    await page.getByRole('button', { name: 'response 200' }).waitFor()
    await page.getByRole('button', { name: 'Failed' }).click()
    // The former rows stay until the filtered ones are there.
    await page.getByRole('button', { name: 'response 200' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'response 503' }).click()
    await page.getByText('only 200 acknowledges the request').last().waitFor()
    const failed = await page.getByRole('button', { name: /response \d+/ }).count()
    const shared = page.url()
    await page.getByRole('button', { name: 'Failed' }).click()
    await page.getByRole('button', { name: 'response 200' }).click()
    const request = await region(page, 'Request of attempt 2').textContent()
    const open = await layoutFaults(page)
    await button(page, 'Redeliver').click()
    const again = await receiver.received(3)
    await page.getByRole('button', { name: 'response 200 , attempt #3' }).waitFor()
    await page.goto(shared)
    await page.getByText('only 200 acknowledges the request').last().waitFor()

    expect(failed).toBe(1)
    expect(request).toContain(headers['x-tfc-task-signature'])
    expect(request).toContain('"workspace_name": "web"')
    expect(request).not.toContain(JSON.parse(body).access_token)
    expect(again.body).toBe(body)
    expect(open).toEqual([])
    expect(faults).toEqual([])
  })

  test('a member who may not read the run sees no exchange', async () => {
    await createMember(server, 'grace', {})

    const member = await openPageOf(server, 'grace', '/app/main/run-tasks')
    const memberFaults = watchFaults(member)
    await member.getByText('1 of 3 failed').waitFor()
    const mayCreate = await member.getByRole('button', { name: 'New run task' }).count()
    await member.getByRole('link', { name: 'policy-check' }).click()
    await member.getByRole('link', { name: 'Deliveries' }).click()
    await member.getByRole('button', { name: 'response 503' }).click()
    await member.getByText('Only users who may read the run').waitFor()

    expect(mayCreate).toBe(0)
    expect(await member.getByText('a run you can’t see').count()).toBe(3)
    expect(await member.getByText('access_token').count()).toBe(0)
    expect(await member.getByRole('button', { name: 'Redeliver' }).count()).toBe(0)
    expect(memberFaults).toEqual([])
  })

  test('a test shows the exchange, and the signature tester compares its header', async () => {
    await page.getByRole('link', { name: 'Test', exact: true }).click()
    await button(page, 'Send test request').click()
    await page.getByText('Passed').waitFor()
    const sent = receiver.tests.at(-1)
    await button(page, 'Use the test request').click()
    await page.getByLabel('HMAC key').fill('another key')
    await page.getByText('The header does not match').waitFor()
    await page.getByLabel('HMAC key').fill('secret')
    await page.getByText('The header matches').waitFor()
    const signature = await region(page, 'the signature').textContent()
    const faultsOfTest = await layoutFaults(page)
    await page.getByRole('textbox', { name: 'Body' }).fill('ä')

    expect(signature).toContain(hmac(sent?.body ?? '', 'secret'))
    expect(await region(page, 'the signature').textContent()).toContain(hmac('ä', 'secret'))
    expect(faultsOfTest).toEqual([])
    expect(faults).toEqual([])
  })

  test('settings change the task, and it is deleted once it is attached nowhere', async () => {
    const [{ id }] = (await server.api('GET', '/organizations/main/tasks')).data
    await open(`/run-tasks/${id}?tab=settings`, 'policy-check')
    await page.getByLabel('Remove the key').check()
    await region(page, 'Receiver').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Settings saved').first().waitFor()
    await page.getByLabel('Run in every workspace').check()
    await page.getByLabel('Mandatory').check()
    await region(page, 'All workspaces').getByRole('button', { name: 'Save' }).click()
    await page.getByText('every workspace', { exact: true }).waitFor()
    const { attributes } = (await server.api('GET', `/tasks/${id}`)).data
    const found = await layoutFaults(page)
    const reason = await button(page, 'Delete run task').getAttribute('data-tooltip')
    const [attachment] = (await server.api('GET', `/workspaces/${web.id}/tasks`)).data
    await server.api('DELETE', `/workspaces/${web.id}/tasks/${attachment.id}`)
    await page.getByText('New runs will no longer call it').waitFor()
    await button(page, 'Delete run task').click()
    await button(page, 'Delete policy-check').click()
    await page.getByRole('heading', { name: 'No run tasks yet' }).waitFor()

    expect(attributes).toMatchObject({
      'has-hmac-key': false,
      'global-configuration': { enabled: true, stages: ['post_plan'], 'enforcement-level': 'mandatory' },
    })
    expect(reason).toBe('attached to 1 workspace: detach it first')
    expect(found).toEqual([])
    expect(faults).toEqual([])
  })

  test('20 tasks are searched, disabled from the list and read page by page', async () => {
    for (let index = 1; index <= 21; index++) await createTask(`task-${String(index).padStart(2, '0')}`)
    await open('/run-tasks', 'Run tasks')
    await page.getByText('1 to 20 of 21').waitFor()
    const found = await layoutFaults(page)
    await button(page, 'Next').click()
    await page.getByRole('link', { name: 'task-21' }).waitFor()
    await page.getByLabel('Search run tasks').fill('k-07')
    await page.getByRole('link', { name: 'task-21' }).waitFor({ state: 'detached' })
    await button(page, 'Actions for task-07').click()
    await page.getByRole('menuitem', { name: 'Disable' }).click()
    await page.getByText('disabled', { exact: true }).waitFor()
    const tasks = (await server.api('GET', '/organizations/main/tasks?q=task-07')).data

    expect(tasks[0].attributes.enabled).toBe(false)
    expect(new URL(page.url()).searchParams.get('q')).toBe('k-07')
    expect(found).toEqual([])
    expect(faults).toEqual([])
  })

  test('the attachments of a task to 22 workspaces are searched and read page by page', async () => {
    const [{ id }] = (await server.api('GET', '/organizations/main/tasks?q=task-01')).data
    const names = ['alpha', 'beta', ...Array.from({ length: 20 }, (_, index) => `many-${index}`)]
    for (const name of names)
      await attach(await createWorkspace(name), id, { 'enforcement-level': 'advisory', stages: ['pre_apply'] })
    await open(`/run-tasks/${id}`, 'task-01')
    await page.getByText('1 to 20 of 22').waitFor()
    const found = await layoutFaults(page)
    await page.getByLabel('Search workspaces').fill('alp')
    await page.getByRole('link', { name: 'beta' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'alpha, Pre-apply: Advisory. Change' }).click()
    await page.getByRole('menuitem', { name: 'Detach' }).click()
    await page.getByRole('heading', { name: 'No workspaces match' }).waitFor()

    expect(found).toEqual([])
    expect(faults).toEqual([])
  })
})

describe.skipIf(!hasBrowser)('run triggers of an organization', () => {
  const connect = async (source: string, destination: string) =>
    server.api('POST', `/workspaces/${destination}/run-triggers`, {
      data: { type: 'run-triggers', relationships: { sourceable: { data: { type: 'workspaces', id: source } } } },
    })
  const count = async () =>
    (await server.api('GET', '/organizations/main/run-triggers')).meta.pagination['total-count'] as number

  test('the first one is created from the empty page with two pickers, and drawn', async () => {
    await createWorkspace('network')
    await open('/run-triggers', 'Run triggers')
    await page.getByRole('heading', { name: 'No run triggers yet' }).waitFor()
    const empty = await layoutFaults(page)
    await button(page, 'New run trigger').first().click()
    for (const [name, workspace] of [
      ['Select source', 'network'],
      ['Select destination', 'web'],
    ] as const) {
      await button(page, name).click()
      await page.getByPlaceholder('Workspace name').fill(workspace)
      await page.getByRole('option', { name: workspace, exact: true }).click()
    }
    await button(page, 'Create run trigger').click()
    await page.getByText('2 workspaces, 1 trigger').waitFor()
    await page.locator('.react-flow__node').getByRole('link', { name: 'network' }).waitFor()

    await expect.poll(async () => page.getByLabel('network triggers web').count()).toBe(1)
    expect(await page.title()).toContain('Run triggers · graph')
    expect(await count()).toBe(1)
    expect(empty).toEqual([])
    expect(await layoutFaults(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test('20 workspaces show a cycle, are searched, and link to the triggers of a workspace', async () => {
    const ids: string[] = []
    for (let index = 0; index < 20; index++) ids.push(await createWorkspace(`layer-${index}`))
    for (const [index, id] of ids.entries()) if (index > 0) await connect(ids[index - 1] ?? '', id)
    await connect(ids[3] ?? '', ids[1] ?? '')

    await page.getByText('Cycle 1: layer-1, layer-2, layer-3').waitFor()
    await page.getByText('22 workspaces, 21 triggers').waitFor()
    const found = await layoutFaults(page)
    await page.getByLabel('Search workspaces').fill('layer-12')
    await page.getByText('3 workspaces, 2 triggers').waitFor()
    await page.locator('.react-flow__edge').first().click({ force: true })
    await region(page, 'Selected trigger').getByText('Never fired').waitFor()
    const selected = await layoutFaults(page)
    await region(page, 'Selected trigger').getByRole('button', { name: 'Remove' }).click()
    await button(page, 'Remove trigger').click()
    await page.getByText('2 workspaces, 1 trigger', { exact: true }).waitFor()
    await page.locator('.react-flow__node').getByRole('link', { name: 'layer-12' }).click()
    await page.getByRole('heading', { name: 'layer-12', level: 1 }).waitFor()

    expect(await count()).toBe(20)
    expect(found).toEqual([])
    expect(selected).toEqual([])
    expect(faults).toEqual([])
  })

  test('the list has the same triggers, sorted, searched and removed', async () => {
    await open('/run-triggers?view=list', 'Run triggers')
    await page.getByRole('cell', { name: 'never' }).first().waitFor()
    const found = await layoutFaults(page)
    await button(page, 'Destination').click()
    await button(page, 'Destination').click()
    await page.getByRole('row').nth(1).getByRole('link', { name: 'web' }).waitFor()
    await page.getByLabel('Search workspaces').fill('network')
    await page.getByRole('link', { name: 'layer-1', exact: true }).first().waitFor({ state: 'detached' })
    await button(page, 'Actions for the trigger from network to web').click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await button(page, 'Remove trigger').click()
    await page.getByRole('heading', { name: 'No run triggers match' }).waitFor()
    const before = await count()

    expect(before).toBe(19)
    expect(new URL(page.url()).searchParams.get('sort')).toBe('-destination')
    expect(found).toEqual([])
    expect(faults).toEqual([])
  })

  test('2,000 workspaces are drawn in part, and found by a search', async () => {
    const page = await openAdminPage(server, '/app/main/run-triggers')
    await page.route('**/dependency-graph', async (route) => {
      const response = await route.fetch()
      const document = await response.json()
      await route.fulfill({ response, json: { data: { ...document.data, attributes: largeGraph(2000) } } })
    })
    await page.reload()
    await page.getByText('200 of 2,000 workspaces shown').waitFor()
    await page.locator('.react-flow__node').first().waitFor()
    await page.getByLabel('Search workspaces').fill('many-1999')
    await page.getByText('2 workspaces, 1 trigger').waitFor()

    const found = page.locator('.react-flow__node').getByRole('link', { name: 'many-1999' })
    await expect.poll(async () => found.count()).toBe(1)
  })
})

/** The attributes of a graph in which each workspace triggers two others. */
function largeGraph(size: number) {
  const workspaces = Array.from({ length: size }, (_, index) => ({
    id: `ws-${index}`,
    name: `many-${index}`,
    'project-id': 'prj-1',
    'project-name': 'Default Project',
    'auto-apply-run-trigger': false,
    'trigger-only-on-output-change': false,
    locked: false,
    'latest-change-at': '2026-01-01T00:00:00.000Z',
    'current-run': null,
    cycle: null,
  }))
  const triggers = workspaces.slice(1).map(({ id }, index) => ({
    id: `rt-${index}`,
    'workspace-id': id,
    'sourceable-id': `ws-${Math.floor(index / 2)}`,
    'last-fired-at': null,
    cycle: null,
  }))
  return { workspaces, triggers, truncated: false }
}
