import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { browserWith, cookieOf } from '../../../testing/browser.ts'
import { type TestUser, createOrganization, createUser } from '../../../testing/factories.ts'
import { type TestMailServer, startMailServer } from '../../../testing/mail-server.ts'
import { freePort } from '../../../testing/ports.ts'
import { addMember, createTeam } from '../../../testing/teams.ts'

const PASSWORD = 'a good password'
const DAY_MS = 24 * 3_600_000
let app: TestApp
let mail: TestMailServer
let owner: TestUser
let organization: { id: string; name: string }
beforeAll(async () => {
  const port = await freePort()
  mail = await startMailServer(port)
  app = await createTestApp({
    GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${port}`,
    GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
  })
  owner = await createUser(app)
  organization = await createOrganization(app, owner)
})

const send = (method: 'GET' | 'POST' | 'DELETE', path: string, attributes?: object, token?: string) =>
  app.request({
    method,
    url: `/api/v2${path}`,
    token,
    ...(attributes && { body: { data: { attributes } } }),
  })
const secretOf = (text: string) => /\/app\/invitation#([\w-]{43})/.exec(text)?.[1] ?? ''

type Invite = { teams?: string[]; token?: string; to?: string }
async function invite(email: string, { teams = [], token = owner.token, to = organization.name }: Invite = {}) {
  const response = await app.request({
    method: 'POST',
    url: `/api/v2/organizations/${to}/organization-memberships`,
    token,
    body: {
      data: {
        type: 'organization-memberships',
        attributes: { email },
        relationships: { teams: { data: teams.map((id) => ({ type: 'teams', id })) } },
      },
    },
  })
  const { data, included } = response.json()
  const link = included.find(({ type }: { type: string }) => type === 'invitations')?.attributes
  await app.runJobs()
  const mailed = secretOf(mail.to(email).at(-1)?.text ?? '')
  return { response, id: data.id as string, link, shown: secretOf(link?.url ?? ''), mailed }
}
const show = (secret: string) => send('POST', '/invitations/actions/show', { secret })
const accept = (secret: string, user: TestUser) => send('POST', '/invitations/actions/accept', { secret }, user.token)
const register = (secret: string, username: string, password = PASSWORD) =>
  send('POST', '/invitations/actions/register', { secret, username, password })
const resend = (id: string, token = owner.token) =>
  send('POST', `/organization-memberships/${id}/actions/resend-invitation`, undefined, token)
const detailsOf = async (response: { headers: Record<string, any> }) => {
  const browser = browserWith(app, cookieOf(response.headers['set-cookie']))
  return (await browser.request({ url: '/api/v2/account/details' })).json().data
}
const membership = async (id: string) =>
  (await send('GET', `/organization-memberships/${id}`, undefined, owner.token)).json().data

describe('an invitation', () => {
  test('is mailed five times in 15 minutes', async () => {
    const { id } = await invite('often@example.com')
    const isMailed = async () => (await resend(id)).json().data.attributes['is-mailed']
    const mailed = []
    for (let count = 0; count < 5; count += 1) mailed.push(await isMailed())
    app.clock.advance(16 * 60_000)

    expect([...mailed, await isMailed()]).toEqual([true, true, true, true, false, true])
  })

  test('shows its link once, and mails another', async () => {
    const { response, id, link, shown, mailed } = await invite('links@example.com')

    expect(response.headers['cache-control']).toBe('no-store')
    expect(link).toMatchObject({ email: 'links@example.com', 'is-mailed': true })
    expect(new Date(link['expires-at']).getTime() - app.now().getTime()).toBeGreaterThan(13 * DAY_MS)
    expect(mailed).not.toBe(shown)
    expect((await show(shown)).json().data.attributes).toMatchObject({
      'organization-name': organization.name,
      email: 'links@example.com',
      'confirms-email': false,
    })
    expect((await show(mailed)).json().data.attributes['confirms-email']).toBe(true)
    expect((await membership(id)).attributes).toMatchObject({
      status: 'invited',
      'invitation-expires-at': link['expires-at'],
    })
    expect(mail.to('links@example.com')[0]).toMatchObject({
      subject: `Invitation to ${organization.name} on Groundstate`,
      text: expect.stringContaining(`${owner.username} invites you to the organization ${organization.name}`),
    })
  })

  test('of an account has no link, and the member is informed', async () => {
    const user = await createUser(app)

    const { link } = await invite(user.email)

    expect(link).toBeUndefined()
    expect(mail.to(user.email).map(({ subject }) => subject)).toEqual([
      `You are a member of ${organization.name} on Groundstate`,
    ])
  })

  test('ends after 14 days, with its removal, and when it is resent', async () => {
    const removed = await invite('removed@example.com')
    const replaced = await invite('replaced@example.com')
    const expired = await invite('expired@example.com')
    await send('DELETE', `/organization-memberships/${removed.id}`, undefined, owner.token)
    const resent = await resend(replaced.id)
    const works = await show(secretOf(resent.json().data.attributes.url))
    app.clock.advance(14 * DAY_MS)

    expect(works.status).toBe(200)
    for (const secret of [removed.shown, removed.mailed, replaced.shown, replaced.mailed, expired.shown])
      expect((await show(secret)).json().errors[0].detail).toBe(
        'the link has expired, was used or replaced: ask for a new one',
      )
    expect((await resend(expired.id)).status).toBe(200)
    expect((await register('', 'nobody')).status).toBe(422)
  })
})

describe('a new user', () => {
  test('sets a name and password, is signed in and joins the teams', async () => {
    const team = await createTeam(app, organization.id)
    const { id, mailed, shown } = await invite('newcomer@example.com', { teams: [team] })

    const response = await register(mailed, 'newcomer')

    expect(response.status).toBe(201)
    const { id: userId, attributes } = await detailsOf(response)
    expect(attributes).toMatchObject({
      username: 'newcomer',
      email: 'newcomer@example.com',
      'unconfirmed-email': null,
      'auth-method': 'password',
    })
    expect(await membership(id)).toMatchObject({
      attributes: { status: 'active', 'has-two-factor': false, 'invitation-expires-at': null },
      relationships: { user: { data: { id: userId } }, teams: { data: [{ id: team }] } },
    })
    expect((await show(shown)).status).toBe(404)
    expect((await register(mailed, 'again')).status).toBe(404)
    expect((await send('POST', '/sessions', { username: 'newcomer', password: PASSWORD })).status).toBe(201)
  })

  test('has no confirmed address with a link that the inviter has seen', async () => {
    const { shown } = await invite('claimed@example.com')

    const response = await register(shown, 'claimant')
    const elsewhere = await createOrganization(app, owner)
    const other = await invite('claimed@example.com', { to: elsewhere.name })

    expect((await detailsOf(response)).attributes).toMatchObject({
      email: null,
      'unconfirmed-email': 'claimed@example.com',
    })
    expect(other.link).toBeDefined()
  })

  test('with a confirmed address also joins other organizations that invited it', async () => {
    const elsewhere = await createOrganization(app, owner)
    const first = await invite('wanted@example.com', { to: elsewhere.name })
    const { mailed } = await invite('wanted@example.com')

    await register(mailed, 'wanted')

    expect((await membership(first.id)).attributes.status).toBe('active')
  })

  test.each([
    ['a taken name', { username: () => owner.username, password: PASSWORD }, '/data/attributes/username'],
    ['a name with spaces', { username: () => 'a b', password: PASSWORD }, '/data/attributes/username'],
    ['a short password', { username: () => 'fine', password: 'short' }, '/data/attributes/password'],
  ])('gets an error for %s, and the link still works', async (_, { username, password }, pointer) => {
    const { shown } = await invite(`${app.newId('x')}@example.com`)

    const response = await register(shown, username(), password)

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe(pointer)
    expect((await show(shown)).status).toBe(200)
  })
})

describe('a signed-in user', () => {
  test('accepts with any address', async () => {
    const user = await createUser(app)
    const team = await createTeam(app, organization.id)
    const { id, mailed } = await invite('work@example.com', { teams: [team] })

    const response = await accept(mailed, user)

    expect(response.json().data.attributes['organization-name']).toBe(organization.name)
    expect(await membership(id)).toMatchObject({
      attributes: { status: 'active', email: user.email },
      relationships: { user: { data: { id: user.id } }, teams: { data: [{ id: team }] } },
    })
    expect((await show(mailed)).status).toBe(404)
    const trail = await send(
      'GET',
      `/organizations/${organization.name}/audit-trail?filter[resource][id]=${id}`,
      undefined,
      owner.token,
    )
    expect(trail.json().data[0].resource).toMatchObject({
      action: 'update',
      meta: { email: 'work@example.com', before: { status: 'invited' }, after: { status: 'active' } },
    })
  })

  test.each([
    ['mailed', 'confirmed'],
    ['shown', 'unconfirmed'],
  ] as const)('without an address has it %s: %s', async (link, state) => {
    const user = await createUser(app)
    await app.db.updateTable('users').set({ email: null }).where('id', '=', user.id).execute()
    const email = `${state}@example.com`
    const invitation = await invite(email)

    await accept(invitation[link], user)
    const details = await send('GET', '/account/details', undefined, user.token)

    expect(details.json().data.attributes.email).toBe(state === 'confirmed' ? email : null)
  })

  test('a member gets a conflict, and the invitation stays', async () => {
    const user = await createUser(app)
    await addMember(app, organization.id, user)
    const { shown } = await invite('second@example.com')

    const response = await accept(shown, user)

    expect(response.status).toBe(409)
    expect(response.json().errors[0].detail).toBe(`${user.username} is a member of ${organization.name} already`)
    expect((await show(shown)).status).toBe(200)
  })
})

describe('who manages members', () => {
  test('may not resend an invitation into a team with more access', async () => {
    const manager = await createUser(app)
    await createTeam(app, organization.id, { members: [manager], columns: { manage_membership: true } })
    const strong = await createTeam(app, organization.id, {
      columns: { manage_workspaces: true, visibility: 'organization' },
    })
    const secret = await createTeam(app, organization.id)
    const member = await createUser(app)
    await addMember(app, organization.id, member)
    const invited = await invite('plain@example.com')

    expect((await resend(invited.id, manager.token)).status).toBe(200)
    for (const team of [strong, secret]) {
      const { id } = await invite(`${team}@example.com`, { teams: [team] })
      expect((await resend(id, manager.token)).status).toBe(403)
    }
    expect((await resend(invited.id, member.token)).status).toBe(404)
  })

  test('loses the link that they have seen when the invitation gets another team', async () => {
    const team = await createTeam(app, organization.id)
    const { id, shown, mailed } = await invite('promoted@example.com')

    await app.request({
      method: 'POST',
      url: `/api/v2/teams/${team}/relationships/organization-memberships`,
      token: owner.token,
      body: { data: [{ type: 'organization-memberships', id }] },
    })

    expect([(await show(shown)).status, (await show(mailed)).status]).toEqual([404, 200])
  })

  test('cannot resend to a member', async () => {
    const { id, mailed } = await invite('accepted@example.com')
    await register(mailed, 'accepted')

    expect((await resend(id)).status).toBe(409)
  })
})

test('without passwords there is no registration, and accepting needs an account', async () => {
  const withoutPasswords = await createTestApp({
    GROUNDSTATE_PASSWORD_SIGN_IN: 'false',
    GROUNDSTATE_OIDC_ISSUER: 'https://id.example.com',
    GROUNDSTATE_OIDC_CLIENT_ID: 'x',
  })
  const post = (path: string, attributes: object) =>
    withoutPasswords.request({ method: 'POST', url: `/api/v2${path}`, body: { data: { attributes } } })

  const registered = await post('/invitations/actions/register', {
    secret: 'x',
    username: 'x',
    password: PASSWORD,
  })

  expect(registered.status).toBe(403)
  expect((await post('/invitations/actions/accept', { secret: 'x' })).status).toBe(401)
})

test('no secret is in the audit trail', async () => {
  const { shown, mailed } = await invite('audited@example.com')
  await register(mailed, 'audited')

  const events = await app.db.selectFrom('audit_events').selectAll().execute()
  const text = JSON.stringify(events)
  expect(text.includes(shown) || text.includes(mailed)).toBe(false)
  const created = events.find(({ meta }) => JSON.stringify(meta).includes('"username":"audited"'))
  expect(events.filter((event) => event.request_id === created?.request_id).map((event) => event.action)).toEqual([
    'create',
    'update',
    'sign_in',
  ])
})
