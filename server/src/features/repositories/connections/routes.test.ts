import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { freePort } from '../../../testing/ports.ts'
import { startFakeHost } from '../../../vcs-hosts/testing/fake-host.ts'

const mailPort = await freePort()
const mail = await startMailServer(mailPort)
const app = await createTestApp({
  GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
  GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
  GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
})
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

async function send(method: 'GET' | 'POST' | 'PATCH', path: string, data?: unknown) {
  return app.request({
    method,
    url: `/api/v2/${path}`,
    token: owner.token,
    ...(data !== undefined && { body: { data } }),
  })
}

/** A connection to a host that answers requests for the user as `reply` says. */
async function connect(reply: Parameters<Awaited<ReturnType<typeof startFakeHost>>['reply']>[1]) {
  const host = await startFakeHost()
  host.reply('GET /user', reply)
  const attributes = {
    'service-provider': 'gitea',
    'http-url': host.url,
    'api-url': host.url,
    'oauth-token-string': 'gta_first',
  }
  const created = await send('POST', `organizations/${acme.name}/oauth-clients`, { type: 'oauth-clients', attributes })
  expect(created.status).toBe(201)
  const { id } = created.json().data
  const read = async () => (await send('GET', `oauth-clients/${id}`)).json().data.attributes
  const check = async () => (await send('POST', `oauth-clients/${id}/actions/test`)).json().data.attributes
  return { id, host, read, check }
}

const USER = { body: { id: 1, login: 'mona', avatar_url: '', html_url: '' } }

test('the host is asked for the user of a new token', async () => {
  const { id, read } = await connect(USER)

  await app.runJobs()
  const tokens = await send('GET', `oauth-clients/${id}/oauth-tokens`)

  expect(tokens.json().data[0].attributes['service-provider-user']).toBe('mona')
  expect(await read()).toMatchObject({ status: 'connected', 'status-message': null })
})

test('a refused token marks the connection and is mailed to owners once, until another one is accepted', async () => {
  const { id, host, read, check } = await connect({ status: 401, body: { message: 'token is revoked' } })

  await app.runJobs()
  await check()
  await app.runJobs()
  const failed = await read()
  const mails = mail.mails.filter(({ subject }) => subject.includes('refuses the token'))
  host.reply('GET /user', USER)
  await send('PATCH', `oauth-clients/${id}`, {
    type: 'oauth-clients',
    attributes: { 'oauth-token-string': 'gta_second' },
  })
  await app.runJobs()

  expect(failed).toMatchObject({ status: 'failed', 'status-message': expect.stringContaining('refused the token') })
  expect(mails).toHaveLength(1)
  expect((await read()).status).toBe('connected')
})

test('a test says what the host said', async () => {
  const accepted = await connect(USER)
  const refused = await connect({ status: 401, body: {} })
  const broken = await connect({ status: 502, body: '<html>Bad gateway</html>' })

  expect(await accepted.check()).toEqual({ result: 'accepted', 'service-provider-user': 'mona', message: null })
  expect(await refused.check()).toMatchObject({ result: 'refused', message: expect.stringContaining('token') })
  expect(await broken.check()).toMatchObject({ result: 'unreachable', message: expect.stringContaining('502') })
})

test('nothing is sent before the time that a rate limit names', async () => {
  const { host, read, check } = await connect({ status: 429, headers: { 'retry-after': '60' }, body: {} })
  await check()
  const sent = host.requests.length

  const blocked = await check()
  const until = (await read())['blocked-until']
  host.reply('GET /user', USER)
  app.clock.advance(61_000)
  const later = await check()

  expect(blocked).toMatchObject({ result: 'unreachable', message: expect.stringContaining('limits requests') })
  expect(new Date(until).getTime()).toBeGreaterThan(0)
  expect(later.result).toBe('accepted')
  expect(host.requests.length).toBe(sent + 1)
})
