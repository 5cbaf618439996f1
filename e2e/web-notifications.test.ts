import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { startMailServer } from '../server/src/testing/mail-server.ts'
import { freePort } from '../server/src/testing/ports.ts'
import { hmac, startReceiver, type TestReceiver } from '../server/src/testing/receiver.ts'
import { hasBrowser } from './browser.ts'
import { remoteWorkspace, type RemoteWorkspace, startRun } from './remote-workspaces.ts'
import type { BootedServer } from './server.ts'
import { bootWebServer, createMember, layoutFaults, openAdminPage, openPageOf, watchFaults } from './web-page.ts'
import { button, openTab, region } from './workspace-page.ts'

let server: BootedServer
let page: Page
let faults: string[]
let receiver: TestReceiver
let web: RemoteWorkspace

const NOTIFICATIONS = '/settings/notifications'

beforeAll(async () => {
  if (!hasBrowser) return
  receiver = await startReceiver()
  server = await bootWebServer()
  web = await remoteWorkspace(server, { name: 'web', configuration: 'output "a" { value = 1 }\n' })
  page = await openAdminPage(server, '/app/main')
  faults = watchFaults(page, ['422 POST', '400 POST'])
})

type Resource = { id: string; attributes: any; relationships: any }

async function configurationsOf(owner: string): Promise<Resource[]> {
  return (await server.api('GET', `${owner}/notification-configurations`)).data
}

describe.skipIf(!hasBrowser)('notifications', () => {
  test('the first one is created from the empty page, once its destination has accepted a test', async () => {
    await openTab(page, server, 'web', '/settings')
    await page.getByRole('link', { name: 'Notifications', exact: true }).click()
    await page.getByRole('heading', { name: 'No notifications yet' }).waitFor()
    const empty = await layoutFaults(page)
    await button(page, 'New notification').click()
    const dialog = page.getByRole('dialog')
    const create = dialog.getByRole('button', { name: 'Create notification' })
    await dialog.getByRole('radio', { name: 'Webhook' }).check()
    await create.click()
    const blank = await dialog.getByRole('alert').textContent()
    await dialog.getByLabel('Name').fill('event bus')
    await dialog.getByLabel('URL', { exact: true }).fill('http://127.0.0.1:1/nobody')
    await create.click()
    await dialog.getByText('nothing is listening there').waitFor()
    const form = await layoutFaults(page)
    await dialog.getByLabel('URL', { exact: true }).fill(receiver.url)
    await dialog.getByLabel('Token (optional)').fill('secret')
    await dialog.getByRole('checkbox', { name: 'Completed' }).check()
    await create.click()
    await page.getByText('Last test accepted').waitFor()
    await page.getByRole('heading', { name: 'Nothing sent yet' }).waitFor()

    const [configuration] = await configurationsOf(`/workspaces/${web.id}`)
    const [verification] = receiver.requests
    expect(blank).toBe("This value can't be blank")
    expect(configuration?.attributes).toMatchObject({
      name: 'event bus',
      enabled: true,
      'destination-type': 'generic',
      'has-token': true,
      triggers: ['run:needs_attention', 'run:completed', 'run:errored'],
    })
    expect(verification?.headers['x-tfe-notification-signature']).toBe(hmac(verification?.body ?? '', 'secret'))
    expect(new URL(page.url()).searchParams.get('notification')).toBe(configuration?.id)
    expect(await page.title()).toBe('web · notifications · Groundstate')
    expect([...empty, ...form, ...(await layoutFaults(page))]).toEqual([])
    expect(faults).toEqual([])
  })

  test('a test shows the response, also one that refuses it', async () => {
    receiver.onRequest = (_, response) => response.writeHead(410).end('channel_is_archived')
    await button(page, 'Send a test').click()
    await page.getByText('the response was 410: channel_is_archived').waitFor()
    const refused = await page.getByText('Last test accepted').count()
    receiver.onRequest = (_, response) => response.writeHead(202, { 'x-channel': 'events' }).end('queued')
    await button(page, 'Send a test').click()
    await page.getByText('response 202', { exact: true }).waitFor()
    await page.getByText('Response', { exact: true }).click()
    await page.getByText('x-channel: events').waitFor()
    receiver.onRequest = undefined

    expect(refused).toBe(0)
    expect(await page.getByRole('region', { name: 'Response to the test' }).textContent()).toContain('queued')
    expect(await layoutFaults(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test('it is changed, disabled and enabled, and another one needs only what its destination needs', async () => {
    await button(page, 'Edit').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Remove the token').check()
    await dialog.getByRole('checkbox', { name: 'Errored' }).uncheck()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('not signed: no token is set').waitFor()
    await button(page, 'Disable').click()
    await button(page, 'Enable').waitFor()
    const [disabled] = await configurationsOf(`/workspaces/${web.id}`)
    await button(page, 'Enable').click()
    await button(page, 'Disable').waitFor()

    await page.getByRole('link', { name: 'All notifications' }).click()
    const table = page.getByRole('table', { name: 'Notifications of web' })
    await table.getByText('Needs attention, completed').waitFor()
    await button(page, 'New notification').click()
    await dialog.getByRole('radio', { name: 'Email' }).check()
    const fields = await dialog.locator('input[type=url], input[type=password]').count()
    await dialog.getByLabel('Name').fill('on-call')
    await button(dialog, 'Add member').click()
    await page.getByRole('option', { name: 'admin' }).click()
    await dialog.getByLabel('Addresses (optional)').fill('stranger@example.org')
    await dialog.getByRole('button', { name: 'Create notification' }).click()
    const refusal = await dialog.getByText('stranger@example.org belongs to no member').textContent()
    const mailForm = await layoutFaults(page)
    await dialog.getByLabel('Addresses (optional)').fill('')
    await dialog.getByRole('button', { name: 'Create notification' }).click()
    await region(page, 'on-call').getByText('admin', { exact: true }).waitFor()
    const mail = await layoutFaults(page)
    await page.getByRole('link', { name: 'All notifications' }).click()
    await table.getByRole('link', { name: 'on-call' }).waitFor()
    const list = await layoutFaults(page)

    const [, created] = await configurationsOf(`/workspaces/${web.id}`)
    expect(disabled?.attributes).toMatchObject({
      enabled: false,
      'has-token': false,
      triggers: ['run:needs_attention', 'run:completed'],
    })
    expect(fields).toBe(0)
    expect(refusal).toContain('GROUNDSTATE_NOTIFICATION_EMAIL_ADDRESSES=allow')
    expect(created?.attributes).toMatchObject({ 'destination-type': 'email', enabled: true })
    expect(created?.relationships.users.data).toHaveLength(1)
    expect([...mailForm, ...mail, ...list]).toEqual([])
    expect(faults).toEqual([])
  })

  test('a member who may not manage it sees neither addresses nor actions', async () => {
    await createMember(server, 'reader', { workspaceId: web.id, access: 'read' })
    const shown = await openPageOf(server, 'reader', `/app/main/workspaces/web${NOTIFICATIONS}`)
    await shown.getByRole('link', { name: 'event bus' }).click()
    await shown.getByRole('heading', { name: 'event bus' }).waitFor()

    expect(await shown.getByText(receiver.url).count()).toBe(0)
    for (const name of ['New notification', 'Send a test', 'Edit', 'Disable', 'Delete notification'])
      expect(await button(shown, name).count()).toBe(0)
    expect(await layoutFaults(shown)).toEqual([])
  })

  test('the log shows each attempt, and a notification is sent again', async () => {
    const isDown = { current: true }
    receiver.onRequest = (_, response) =>
      isDown.current ? response.writeHead(503).end('maintenance') : response.writeHead(204).end()
    const before = receiver.requests.length
    await openTab(page, server, 'web', NOTIFICATIONS)
    await page.getByRole('link', { name: 'event bus' }).click()
    await startRun(server, web)
    await page.getByRole('button', { name: 'retrying Completed' }).click()
    await page
      .getByRole('region', { name: /^Response to attempt \d+$/ })
      .first()
      .waitFor()
    const failed = await layoutFaults(page)
    // From the fourth attempt on, the next one is at least four seconds away: none is under way when it is sent by hand.
    const attempts = Math.max(4, receiver.requests.length - before + 1)
    await receiver.received(before + attempts)
    await region(page, `Response to attempt ${attempts}`).waitFor()
    isDown.current = false
    await button(page, 'Send now').click()
    await page.getByRole('button', { name: 'delivered Completed' }).first().waitFor()
    const { payload } = await receiver.received(before + attempts + 1)
    const shared = page.url()
    await page.getByRole('button', { name: 'Failed', exact: true }).click()
    await page.getByRole('heading', { name: 'No notifications match' }).waitFor()
    await page.getByRole('button', { name: 'Delivered', exact: true }).click()
    await page.getByRole('button', { name: 'delivered Completed' }).waitFor()
    const sent = receiver.requests.length
    await page.goto(shared)
    await button(page, 'Redeliver').click()
    await receiver.received(sent + 1)
    const opened = await layoutFaults(page)
    receiver.onRequest = undefined
    await page.getByRole('link', { name: 'All notifications' }).click()
    await page.getByRole('cell', { name: /^Delivered\s*Completed/ }).waitFor()

    expect(payload).toMatchObject({ workspace_name: 'web', notifications: [{ trigger: 'run:completed' }] })
    expect([...failed, ...opened]).toEqual([])
    expect(faults).toEqual([])
  })

  test('a project has notifications about its workspaces, and a team about change requests only', async () => {
    const [project] = (await server.api('GET', '/organizations/main/projects')).data as Resource[]
    const { teamId } = await createMember(server, 'lead', {})
    const dialog = page.getByRole('dialog')
    await page.goto(`${server.url}/app/main/projects/${project?.id}`)
    await page.getByRole('link', { name: 'Notifications', exact: true }).click()
    await button(page, 'New notification').click()
    await dialog.getByLabel('Name').fill('#deployments')
    await dialog.getByLabel('Webhook URL').fill(receiver.url)
    await dialog.getByRole('button', { name: 'Create notification' }).click()
    await region(page, '#deployments').waitFor()
    const slack = receiver.requests.at(-1)
    const ofProject = await layoutFaults(page)

    await page.goto(`${server.url}/app/main/teams/${teamId}?tab=notifications`)
    await page.getByText('which this server does not have yet').waitFor()
    const emptyTeam = await layoutFaults(page)
    await button(page, 'New notification').click()
    await dialog.getByRole('radio', { name: 'Microsoft Teams' }).check()
    const offered = await dialog.getByRole('group', { name: 'Events' }).getByRole('checkbox').count()
    await dialog.getByLabel('Name').fill('Leads')
    await dialog.getByLabel('Workflow URL').fill(receiver.url)
    await dialog.getByRole('button', { name: 'Create notification' }).click()
    await region(page, 'Leads').waitFor()
    const card = receiver.requests.at(-1)
    await button(page, 'Delete notification').click()
    await button(page, 'Delete Leads').click()
    await page.getByRole('heading', { name: 'No notifications yet' }).waitFor()

    expect(await configurationsOf(`/projects/${project?.id}`)).toMatchObject([
      { attributes: { name: '#deployments', triggers: ['run:needs_attention', 'run:errored'] } },
    ])
    expect(JSON.parse(slack?.body ?? '')).toHaveProperty('blocks')
    expect(card?.body).toContain('AdaptiveCard')
    expect(offered).toBe(1)
    expect(await configurationsOf(`/teams/${teamId}`)).toEqual([])
    expect([...ofProject, ...emptyTeam]).toEqual([])
    expect(faults).toEqual([])
  })
})

describe.skipIf(!hasBrowser)('mails', () => {
  test('each person chooses which mails they receive, and sees who else sends some', async () => {
    await page.goto(`${server.url}/app/settings/account`)
    await page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name: 'Notifications' }).click()
    await page.getByText('This server sends no mail yet.').waitFor()
    await page.getByRole('checkbox', { name: 'Errored' }).check()
    await page.getByRole('checkbox', { name: 'Notifications sent to you' }).uncheck()
    await button(page, 'Save').click()
    await page.getByText('Notifications saved').waitFor()
    const found = await layoutFaults(page)
    const { data } = await server.api('GET', '/account/notification-settings')
    await page.getByRole('table', { name: 'Notifications sent to you' }).getByRole('link', { name: 'on-call' }).click()
    await region(page, 'on-call').waitFor()

    expect(data.attributes).toMatchObject({ 'own-run-triggers': ['run:errored'], 'configured-mails': false })
    expect(found).toEqual([])
    expect(faults).toEqual([])
  })

  test('a test mail reaches the recipients', async () => {
    const port = await freePort()
    const mail = await startMailServer(port)
    const sending = await bootWebServer({
      GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${port}`,
      GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
    })
    const { data: user } = await sending.api('GET', '/account/details')
    const { data: workspace } = await sending.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name: 'web' } },
    })
    await sending.api('POST', `/workspaces/${workspace.id}/notification-configurations`, {
      data: {
        type: 'notification-configurations',
        attributes: { name: 'on-call', 'destination-type': 'email', enabled: true, triggers: ['run:errored'] },
        relationships: { users: { data: [{ type: 'users', id: user.id }] } },
      },
    })
    const shown = await openAdminPage(sending, `/app/main/workspaces/web${NOTIFICATIONS}`)
    await shown.getByRole('link', { name: 'on-call' }).click()
    await button(shown, 'Send a test').click()
    await shown.getByText('Test mail sent').waitFor()

    expect(mail.to(user.attributes.email)).toHaveLength(1)
  })
})
