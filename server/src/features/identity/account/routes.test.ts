import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { createBrowser } from '../../../testing/browser.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { createOrganizationToken, createLegacyTeamToken } from '../../organizations/authentication-tokens/service.ts'

const PASSWORD = 'a good password'
let app: TestApp
beforeAll(async () => {
  app = await createTestApp()
})

const patch = (url: string, token: string, attributes: unknown) =>
  app.request({ method: 'PATCH', url, token, body: { data: { type: 'users', attributes } } })

async function teamToken() {
  const owner = await createUser(app)
  const { id, name } = await createOrganization(app, owner)
  const team = await app.db.selectFrom('teams').select('id').where('organization_id', '=', id).executeTakeFirstOrThrow()
  const { text } = await createLegacyTeamToken(app.as(owner.actor), team.id, {})
  return { owner, name, text }
}

describe('account details', () => {
  test('users see their own address and permissions', async () => {
    const ada = await createUser(app, { username: 'ada', email: 'ada@example.com', password: PASSWORD })

    const response = await app.request({ url: '/api/v2/account/details', token: ada.token })

    expect(response.status).toBe(200)
    expect(response.json().data).toMatchObject({
      id: ada.id,
      type: 'users',
      attributes: {
        username: 'ada',
        email: 'ada@example.com',
        'is-site-admin': false,
        'two-factor': { enabled: false, verified: false },
        'default-token-ttl': '2y',
        permissions: { 'can-change-password': true, 'can-manage-user-tokens': true },
      },
    })
  })

  test("a team's token is the team's account, an organization's has no account", async () => {
    const { owner, name, text } = await teamToken()
    const organization = await createOrganizationToken(app.as(owner.actor), name, { kind: 'organization' })

    const ofTeam = await app.request({ url: '/api/v2/account/details', token: text })
    const ofOrganization = await app.request({ url: '/api/v2/account/details', token: organization.text })

    expect(ofTeam.json().data.attributes).toMatchObject({
      'is-service-account': true,
      permissions: { 'can-change-password': false, 'can-manage-user-tokens': false },
    })
    expect(ofOrganization.status).toBe(404)
  })
})

describe('updating the account', () => {
  test('the name changes, and a new address stays unconfirmed', async () => {
    const user = await createUser(app, { password: PASSWORD })
    const admin = await createUser(app, { isSiteAdmin: true })

    const response = await patch('/api/v2/account/update', user.token, {
      username: 'grace',
      email: 'grace@example.com',
    })
    await patch(`/api/v2/admin/users/${user.id}`, admin.token, { email: 'Grace@example.com' })
    const confirmed = await app.request({ url: '/api/v2/account/details', token: user.token })

    expect(response.status).toBe(200)
    expect(response.json().data.attributes).toMatchObject({
      username: 'grace',
      email: user.email,
      'unconfirmed-email': 'grace@example.com',
    })
    expect(confirmed.json().data.attributes).toMatchObject({ email: 'Grace@example.com', 'unconfirmed-email': null })
  })

  test('an unconfirmed address does not sign in and does not block its owner', async () => {
    const squatter = await createUser(app, { password: PASSWORD })
    await patch('/api/v2/account/update', squatter.token, { email: 'victim@example.com' })

    const body = { username: 'victim@example.com', password: PASSWORD }
    const signIn = await app.request({ method: 'POST', url: '/api/v2/sessions', body })
    const victim = await createUser(app, { email: 'Victim@example.com' })

    expect(signIn.status).toBe(401)
    expect(victim.id).not.toBe(squatter.id)
  })

  test('a taken address has the response of a free one, also once it is confirmed for another account', async () => {
    const [taken, user] = [await createUser(app), await createUser(app, { password: PASSWORD })]
    const enter = async (email: string) => {
      const { status, text } = await patch('/api/v2/account/update', user.token, { email })
      return { status, text: text.replaceAll(email, 'ADDRESS') }
    }
    const details = async () => (await app.request({ url: '/api/v2/account/details', token: user.token })).json().data

    const known = await enter(taken.email.toUpperCase())
    const unknown = await enter('unknown@example.com')
    const before = await details()
    await createUser(app, { email: 'unknown@example.com' })

    expect(known).toEqual(unknown)
    expect(known.status).toBe(200)
    expect(before.attributes).toMatchObject({ email: user.email, 'unconfirmed-email': 'unknown@example.com' })
    expect(await details()).toEqual(before)
  })

  test('an administrator cannot confirm an address for two accounts', async () => {
    const [taken, user] = [await createUser(app), await createUser(app, { password: PASSWORD })]
    const admin = await createUser(app, { isSiteAdmin: true })
    await patch('/api/v2/account/update', user.token, { email: taken.email })

    const response = await patch(`/api/v2/admin/users/${user.id}`, admin.token, { email: taken.email })

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe('/data/attributes/email')
  })

  test('the current address is not a new one', async () => {
    const user = await createUser(app, { password: PASSWORD })
    await patch('/api/v2/account/update', user.token, { email: 'other@example.com' })

    const back = await patch('/api/v2/account/update', user.token, { email: user.email.toUpperCase() })

    expect(back.json().data.attributes).toMatchObject({ email: user.email, 'unconfirmed-email': null })
  })

  test('a taken name, in any case, is rejected with its pointer', async () => {
    const taken = await createUser(app)
    const user = await createUser(app, { password: PASSWORD })

    const name = await patch('/api/v2/account/update', user.token, { username: taken.username.toUpperCase() })

    expect(name.status).toBe(422)
    expect(name.json().errors[0].source.pointer).toBe('/data/attributes/username')
  })

  test.each([['a b'], ['a@b'], [''], ['x'.repeat(61)], ['api-team_123'], [7]])(
    '%j is no username',
    async (username) => {
      const user = await createUser(app, { password: PASSWORD })

      expect((await patch('/api/v2/account/update', user.token, { username })).status).toBe(422)
    },
  )

  test('SSO accounts and accounts of teams cannot be updated', async () => {
    const elsewhere = await createUser(app)
    const { text } = await teamToken()

    expect((await patch('/api/v2/account/update', elsewhere.token, { username: 'new' })).status).toBe(403)
    expect((await patch('/api/v2/account/update', text, { username: 'new' })).status).toBe(403)
  })
})

describe('changing the password', () => {
  const change = (token: string, attributes: unknown) => patch('/api/v2/account/password', token, attributes)
  const signIn = async (username: string, password: string) =>
    (await app.request({ method: 'POST', url: '/api/v2/sessions', body: { username, password } })).status

  test('the new password works, the old one does not, and other sessions end', async () => {
    const user = await createUser(app, { password: PASSWORD })
    const here = await createBrowser(app, user.id)
    const elsewhere = await createBrowser(app, user.id)

    const response = await here.request({
      method: 'PATCH',
      url: '/api/v2/account/password',
      body: {
        data: {
          type: 'users',
          attributes: {
            current_password: PASSWORD,
            password: 'another password',
            password_confirmation: 'another password',
          },
        },
      },
    })

    expect(response.status).toBe(200)
    expect((await here.request({ url: '/api/v2/account/details' })).status).toBe(200)
    expect((await elsewhere.request({ url: '/api/v2/account/details' })).status).toBe(401)
    expect(await signIn(user.username, 'another password')).toBe(201)
    expect(await signIn(user.username, PASSWORD)).toBe(401)
  })

  test.each([
    ['a wrong current one', { current_password: 'wrong', password: 'another password' }, 'current_password'],
    ['a short one', { current_password: PASSWORD, password: 'short' }, 'password'],
    [
      'a confirmation that differs',
      { current_password: PASSWORD, password: 'another password', password_confirmation: 'other' },
      'password_confirmation',
    ],
    ['none', {}, 'current_password'],
  ])('%s is rejected with its pointer', async (_, attributes, name) => {
    const user = await createUser(app, { password: PASSWORD })

    const response = await change(user.token, attributes)

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe(`/data/attributes/${name}`)
  })

  test('an account without a password cannot change it', async () => {
    const user = await createUser(app)

    expect((await change(user.token, { current_password: '', password: 'another password' })).status).toBe(409)
  })
})

describe('own sessions', () => {
  test('are listed with the current one marked, and end one by one or all together', async () => {
    const user = await createUser(app)
    const [here, there] = [await createBrowser(app, user.id), await createBrowser(app, user.id)]
    const list = async () => (await here.request({ url: '/api/v2/account/sessions' })).json().data

    const sessions = await list()
    expect(sessions).toHaveLength(2)
    const other = sessions.find((session: any) => !session.attributes['is-current'])
    const ended = await here.request({ method: 'DELETE', url: `/api/v2/account/sessions/${other.id}` })
    expect(ended.status).toBe(204)
    expect((await there.request({ url: '/api/v2/account/details' })).status).toBe(401)
    expect(await list()).toHaveLength(1)

    const everywhere = await here.request({ method: 'DELETE', url: '/api/v2/account/sessions' })
    expect(everywhere.status).toBe(204)
    expect((await here.request({ url: '/api/v2/account/details' })).status).toBe(401)
    expect((await app.request({ url: '/api/v2/account/details', token: user.token })).status).toBe(200)
  })

  test("another user's session can't be ended", async () => {
    const [ada, eve] = [await createUser(app), await createUser(app)]
    const browser = await createBrowser(app, ada.id)
    const { id } = (await browser.request({ url: '/api/v2/sessions/current' })).json().data

    const response = await app.request({ method: 'DELETE', url: `/api/v2/account/sessions/${id}`, token: eve.token })

    expect(response.status).toBe(404)
    expect((await browser.request({ url: '/api/v2/account/details' })).status).toBe(200)
  })
})
