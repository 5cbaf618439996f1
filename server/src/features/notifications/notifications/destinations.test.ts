import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser } from '../../../testing/factories.ts'
import { type TestMailServer, startMailServer } from '../../../testing/mail-server.ts'
import { freePort } from '../../../testing/ports.ts'
import { actOnRun, createRun } from '../../../testing/runs.ts'
import { eventually } from '../../../testing/task-runs.ts'
import { addMember } from '../../../testing/teams.ts'
import { deleteWorkspace } from '../../runs/workspace-deletion/service.ts'
import { errorIn } from './failure.ts'
import {
  type NotifiedSetting,
  configure,
  createNotifiedSetting,
  listNotifications,
  startSending,
  takeJob,
} from './testing/notified.ts'

const port = await freePort()
const app = await createTestApp({
  GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
  GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${port}`,
  GROUNDSTATE_MAIL_FROM: 'Groundstate <groundstate@example.com>',
  GROUNDSTATE_NOTIFICATION_EMAIL_ADDRESSES: 'allow',
})
const mail = await startMailServer(port)
startSending(app)
const COUNTS = { additions: 2, changes: 4, destructions: 0, imports: 0 }
const EMAIL = { name: 'mails', 'destination-type': 'email' }
const users = (...ids: string[]) => ({ users: { data: ids.map((id) => ({ id, type: 'users' })) } })

const mailsTo = async (server: TestMailServer, address: string, count: number) =>
  eventually(async () => server.to(address).length >= count && server.to(address))

async function planned(setting: NotifiedSetting, message: string) {
  const run = await createRun(app, setting, { message })
  await (await takeJob(setting, run)).finish({ hasChanges: true, counts: COUNTS })
  return run
}

async function fail(setting: NotifiedSetting, log: string) {
  const run = await createRun(app, setting, { message: 'grow' })
  const job = await takeJob(setting, run)
  await job.log(log)
  await job.finish({ status: 'errored', message: 'plan ended with exit code 1' })
  return run
}

const urlOf = ({ organization, workspaceName }: NotifiedSetting, run: string) =>
  `http://groundstate.test/app/${organization}/workspaces/${workspaceName}/runs/${run}`

test('Slack gets blocks in which texts of users are no markup', async () => {
  const setting = await createNotifiedSetting(app)
  await configure(app, setting, { 'destination-type': 'slack', triggers: ['run:needs_attention'] })

  const run = await planned(setting, '<!channel> *grow* & <https://evil.example|shrink>')
  const { payload } = await setting.receiver.received(1)

  const place = `${setting.organization}/${setting.workspaceName}`
  const line = `<${urlOf(setting, run)}|Needs approval> in ${place}`
  expect(payload).toEqual({
    text: [
      line,
      '&lt;!channel&gt; *grow* &amp; &lt;https://evil.example|shrink&gt;',
      `started by ${setting.user.username}`,
      '+2 ~4 −0',
    ].join('\n'),
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `*${line}*` } },
      {
        type: 'section',
        text: { type: 'plain_text', text: '<!channel> *grow* & <https://evil.example|shrink>', emoji: false },
      },
      {
        type: 'context',
        elements: [{ type: 'plain_text', text: `started by ${setting.user.username} · +2 ~4 −0`, emoji: false }],
      },
    ],
  })
})

test('Microsoft Teams gets an Adaptive Card of text runs with one link', async () => {
  const setting = await createNotifiedSetting(app)
  await configure(app, setting, { 'destination-type': 'microsoft-teams', triggers: ['run:errored'] })

  const run = await fail(setting, 'Error: **bold** [link](https://evil.example)\n')
  const { payload } = await setting.receiver.received(1)

  expect(payload).toMatchObject({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          type: 'AdaptiveCard',
          body: [
            { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: 'Run Errored' }] },
            { inlines: [{ text: `${setting.organization}/${setting.workspaceName}` }] },
            { inlines: [{ type: 'TextRun', text: 'grow' }] },
            { inlines: [{ type: 'TextRun', text: '**bold** [link](https://evil.example)', color: 'Attention' }] },
            { inlines: [{ text: `started by ${setting.user.username}` }] },
          ],
          actions: [{ type: 'Action.OpenUrl', title: 'Open the run', url: urlOf(setting, run) }],
        },
      },
    ],
  })
})

test('the deletion of a workspace says who deleted it', async () => {
  const setting = await createNotifiedSetting(app)
  await configure(app, setting, { 'destination-type': 'slack', triggers: ['workspace:deleted'] })

  await deleteWorkspace(app.as(setting.user.actor), { id: setting.workspaceId })
  const { payload } = await setting.receiver.received(1)

  const place = `${setting.organization}/${setting.workspaceName}`
  expect(payload).toMatchObject({ text: `Workspace Deleted in ${place}\ndeleted by ${setting.user.username}` })
})

test('verifications have the format of their destination', async () => {
  const setting = await createNotifiedSetting(app)

  await configure(app, setting, { 'destination-type': 'slack', url: setting.receiver.url })
  await configure(app, setting, { 'destination-type': 'microsoft-teams', url: setting.receiver.url })

  const place = `${setting.organization}/${setting.workspaceName}`
  expect(setting.receiver.requests.map(({ payload }) => payload)).toMatchObject([
    { blocks: [{ text: { text: `*Verification of "chat" in ${place}*` } }, { type: 'context' }] },
    { attachments: [{ content: { actions: [], fallbackText: `Verification of "chat": ${place}` } }] },
  ])
})

test('e-mails go to each named member and address on its own, with a link to their settings', async () => {
  const setting = await createNotifiedSetting(app)
  const ada = await createUser(app)
  const { id: organizationId } = await app.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', setting.organization)
    .executeTakeFirstOrThrow()
  await addMember(app, organizationId, ada)
  const workspaces = { [setting.workspaceId]: 'read' } as const
  await createTeamWithAccess(app, { organizationId, members: [ada], workspaces })
  const other = `team-${ada.username}@elsewhere.example`
  await configure(app, setting, {
    ...EMAIL,
    triggers: ['run:needs_attention'],
    'email-addresses': [other],
    relationships: users(ada.id),
  })

  const run = await planned(setting, 'grow <b>')
  const [received] = await mailsTo(mail, ada.email, 1)

  expect(received).toMatchObject({
    to: ada.email,
    subject: expect.stringContaining('Needs approval'),
    text: expect.stringContaining(`Needs approval in ${setting.organization}/${setting.workspaceName}.`),
  })
  expect(received?.text).toContain('grow <b>')
  expect(received?.text).toContain(urlOf(setting, run))
  expect(received?.raw).toMatch(/List-Unsubscribe: <http:\/\/groundstate\.test\/app\/settings\/notifications>/i)
  expect(received?.raw).toContain('&#60;b&#62;')
  expect(await mailsTo(mail, other, 1)).toHaveLength(1)
})

test('a member who does not want them, has left or is named no more gets no e-mail', async () => {
  const setting = await createNotifiedSetting(app)
  const [silent, former] = [await createUser(app), await createUser(app)]
  const { id: organizationId } = await app.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', setting.organization)
    .executeTakeFirstOrThrow()
  for (const user of [silent, former]) await addMember(app, organizationId, user)
  const relationships = users(silent.id, former.id)
  const id = await configure(app, setting, { ...EMAIL, triggers: ['run:created'], relationships })
  await settings(app, silent.token, { 'configured-mails': false })
  await app.db.deleteFrom('organization_memberships').where('user_id', '=', former.id).execute()

  await createRun(app, setting)
  const [notification] = await eventually(async () => {
    const list = await listNotifications(app, setting, id)
    return list[0]?.attributes.status !== 'pending' && list
  })

  expect(notification.attributes).toMatchObject({ status: 'canceled', error: expect.stringContaining('nobody') })
  expect([mail.to(silent.email), mail.to(former.email)]).toEqual([[], []])
})

test('without named users all members of the project get the e-mail', async () => {
  const setting = await createNotifiedSetting(app)
  const organization = await createOrganization(app, setting.user)
  const project = await createProject(app, { organization: organization.name, actor: setting.user.actor })
  const [inside, outside] = [await createUser(app), await createUser(app)]
  for (const user of [inside, outside]) await addMember(app, organization.id, user)
  await createTeamWithAccess(app, {
    organizationId: organization.id,
    members: [inside],
    projects: { [project.id]: 'read' },
  })
  const id = await configure(app, setting, { ...EMAIL, at: `/projects/${project.id}` })

  const verified = await app.request({
    method: 'POST',
    url: `/api/v2/notification-configurations/${id}/actions/verify`,
    token: setting.user.token,
  })

  expect(verified.status).toBe(200)
  expect(mail.to(inside.email)).toMatchObject([
    {
      subject: expect.stringMatching(/Verification.*mails/),
      text: expect.stringContaining(`Verification of "mails" in the project ${project.name}.`),
    },
  ])
  expect(mail.to(outside.email)).toEqual([])
})

test('users get e-mails about the events of their own runs that they chose, while they are members', async () => {
  const setting = await createNotifiedSetting(app)
  const { user } = setting
  await settings(app, user.token, { 'own-run-triggers': ['run:needs_attention', 'run:completed'] })

  const run = await planned(setting, 'grow')
  await actOnRun(app, setting, { run, action: 'apply' })
  await (await takeJob(setting, run)).finish({ counts: COUNTS })
  const mails = await mailsTo(mail, user.email, 2)

  const place = `${setting.organization}/${setting.workspaceName}`
  expect(mails.map(({ subject }) => subject)).toEqual([`Needs approval: ${place}`, `Run Applied: ${place}`])
  expect(mails[0]?.raw).toContain('because you started the run')
  expect(mails.map(({ text }) => text.includes(`approved by ${user.username}`))).toEqual([false, true])
})

test('the first error of a failed phase is shown without sensitive values', async () => {
  const setting = await createNotifiedSetting(app)
  await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${setting.workspaceId}/vars`,
    token: setting.user.token,
    body: {
      data: { type: 'vars', attributes: { key: 'k', value: 's3cret-value', category: 'terraform', sensitive: true } },
    },
  })
  await configure(app, setting, { 'destination-type': 'slack', triggers: ['run:errored'] })

  await fail(
    setting,
    'Planning...\n\u001B[31m╷\n│ \u001B[1mError: \u001B[0mcannot use "s3cret-value" here\n│ more\nError: other\n',
  )
  const { body } = await setting.receiver.received(1)

  expect(body).toContain('cannot use \\"(sensitive value)\\" here')
  expect(body).not.toMatch(/s3cret|more|other/)
})

test('a message of a run has no sensitive value, and says who discarded a run that destroys everything', async () => {
  const setting = await createNotifiedSetting(app)
  await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${setting.workspaceId}/vars`,
    token: setting.user.token,
    body: {
      data: { type: 'vars', attributes: { key: 'k', value: 's3cret-value', category: 'terraform', sensitive: true } },
    },
  })
  await configure(app, setting, { 'destination-type': 'slack', triggers: ['run:errored'] })

  const run = await createRun(app, setting, { message: 'use s3cret-value now', 'is-destroy': true })
  await (await takeJob(setting, run)).finish({ hasChanges: true, counts: COUNTS })
  await actOnRun(app, setting, { run, action: 'discard' })
  const { body } = await setting.receiver.received(1)

  expect(body).not.toContain('s3cret')
  expect(body).toContain('use (sensitive value) now')
  expect(body).toContain(`discarded by ${setting.user.username} · destroys everything`)
})

test('an automatic apply reports its counts before the documents of its plan arrive', async () => {
  const setting = await createNotifiedSetting(app, { 'auto-apply': true })
  await configure(app, setting, { 'destination-type': 'slack', triggers: ['run:completed'] })

  const run = await createRun(app, setting)
  await (await takeJob(setting, run)).finish({ hasChanges: true, owesDocuments: true })
  await (await takeJob(setting, run)).finish({ counts: COUNTS })

  expect((await setting.receiver.received(1)).body).toContain('+2 ~4 −0')
})

test('without an error in the log the reason of the server is shown', async () => {
  const setting = await createNotifiedSetting(app)
  await configure(app, setting, { 'destination-type': 'slack', triggers: ['run:errored'] })

  await fail(setting, 'Planning...\n')

  expect((await setting.receiver.received(1)).body).toContain('plan ended with exit code 1')
})

test('errors are found in logs of JSON lines, and warnings are none', () => {
  const line = (severity: string, summary: string) =>
    JSON.stringify({ '@level': severity, type: 'diagnostic', diagnostic: { severity, summary, detail: 'x' } })

  expect(errorIn(`{"a":1}\n${line('warning', 'deprecated')}\n${line('error', 'no quota')}\n`)).toBe('no quota')
  const init = `Terraform encountered problems during initialisation, including problems\nwith the configuration, described below.`
  expect(errorIn(`╷\n│ Error: ${init}\n╵\n╷\n│ Error: Missing newline after argument\n`)).toBe(
    'Missing newline after argument',
  )
  expect(errorIn('│ Warning: old\n  Error in the middle: no\n{"diagnostic": broken')).toBeUndefined()
})

test('a mail server that is away is tried again, and those who got the mail get no second one', async () => {
  const away = await freePort()
  const other = await createTestApp({
    GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${away}`,
    GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
    GROUNDSTATE_NOTIFICATION_EMAIL_ADDRESSES: 'allow',
  })
  startSending(other)
  const setting = await createNotifiedSetting(other)
  const addresses = ['nobody@nowhere.example', 'one@example.com', 'two@example.com']
  const id = await configure(other, setting, { ...EMAIL, triggers: ['run:created'], 'email-addresses': addresses })

  await createRun(other, setting)
  await eventually(async () => (await listNotifications(other, setting, id))[0]?.attributes.error ?? undefined)
  const server = await startMailServer(away)
  other.clock.advance(60_000)
  await mailsTo(server, 'two@example.com', 1)
  const [notification] = await eventually(async () => {
    const list = await listNotifications(other, setting, id, '?filter[status]=delivered')
    return list.length > 0 && list
  })
  const deliveries = await other.request({
    url: `/api/v2/notifications/${notification.id}/deliveries`,
    token: setting.user.token,
  })

  expect(server.mails.map(({ to }) => to)).toEqual(['one@example.com', 'two@example.com'])
  const [last, first] = [deliveries.json().data.at(0), deliveries.json().data.at(-1)]
  expect(first.attributes).toMatchObject({
    status: 'failed',
    error: 'the mail server cannot be reached (ECONNREFUSED)',
  })
  expect(last.attributes).toMatchObject({
    status: 'succeeded',
    request: { method: 'SMTP', url: 'mailto:' },
    response: { status: 250, body: expect.stringContaining('refused these recipients: nobody@nowhere.example') },
  })
})

async function settings(on: TestApp, token: string, attributes: object) {
  const response = await on.request({
    method: 'PATCH',
    url: '/api/v2/account/notification-settings',
    token,
    body: { data: { type: 'notification-settings', attributes } },
  })
  if (response.status !== 200) throw new Error(response.text)
  return response.json().data
}
