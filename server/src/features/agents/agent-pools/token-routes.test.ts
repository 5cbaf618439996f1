import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRunSetting } from '../../../testing/runs.ts'
import { createPool, createPoolToken } from './testing/pools.ts'
import { sender } from './testing/send.ts'

const app = await createTestApp()
const send = sender(app)

describe('agent tokens', () => {
  test.each(['authentication-tokens', 'agent-tokens'])(
    'of the type %s are created; their text is shown once',
    async (type) => {
      const setting = await createRunSetting(app)
      const pool = await createPool(app, setting)

      const token = await createPoolToken(app, setting, { poolId: pool.id, type })

      expect(token).toMatchObject({
        id: expect.stringMatching(/^at-/),
        type: 'authentication-tokens',
        attributes: {
          description: 'for the rack',
          'last-used-at': null,
          'expired-at': null,
          token: expect.any(String),
        },
        relationships: { 'created-by': { data: { id: setting.user.id, type: 'users' } } },
      })
      const list = (await send(setting.user.token, 'GET', `/agent-pools/${pool.id}/authentication-tokens`)).json()
      expect(list.data).toMatchObject([{ id: token.id, attributes: { token: null } }])
      expect(list.meta.pagination['total-count']).toBe(1)
      const shown = (await send(setting.user.token, 'GET', `/authentication-tokens/${token.id}`)).json()
      expect(shown.data.attributes.token).toBeNull()
    },
  )

  test.each([
    [{ type: 'authentication-tokens', attributes: {} }],
    [{ type: 'authentication-tokens', attributes: { description: ' ' } }],
    [{ type: 'authentication-tokens', attributes: { description: 7 } }],
    [{ type: 'users', attributes: { description: 'x' } }],
  ])('with the body %j are rejected', async (data) => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)

    expect((await send(setting.user.token, 'POST', `/agent-pools/${pool.id}/authentication-tokens`, data)).status).toBe(
      422,
    )
  })

  test('stop working when they are deleted, and their agents exit', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const token = await createPoolToken(app, setting, { poolId: pool.id })
    const agent = await createFakeAgent(app, { token: token.attributes.token })

    expect((await send(setting.user.token, 'DELETE', `/authentication-tokens/${token.id}`)).status).toBe(204)

    await expect(agent.claim()).rejects.toThrow('unauthorized')
    expect((await send(setting.user.token, 'DELETE', `/authentication-tokens/${token.id}`)).status).toBe(404)
  })

  test('are not found by a stranger or with the token of an agent', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const token = await createPoolToken(app, setting, { poolId: pool.id })
    const stranger = await createUser(app)

    for (const asker of [stranger.token, token.attributes.token]) {
      const statuses = await Promise.all([
        send(asker, 'GET', `/agent-pools/${pool.id}/authentication-tokens`),
        send(asker, 'POST', `/agent-pools/${pool.id}/authentication-tokens`, {
          type: 'authentication-tokens',
          attributes: { description: 'x' },
        }),
        send(asker, 'GET', `/authentication-tokens/${token.id}`),
        send(asker, 'DELETE', `/authentication-tokens/${token.id}`),
      ])
      expect(statuses.map((response) => response.status)).toEqual([404, 404, 404, 404])
    }
  })

  test('have the time of their last use, at most a minute late', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const token = await createPoolToken(app, setting, { poolId: pool.id })
    const lastUsed = async () =>
      (await send(setting.user.token, 'GET', `/authentication-tokens/${token.id}`)).json().data.attributes[
        'last-used-at'
      ]

    const before = await lastUsed()
    const agent = await createFakeAgent(app, { token: token.attributes.token })
    const first = Date.parse(await lastUsed())
    app.clock.advance(61_000)
    await agent.claim()
    const second = Date.parse(await lastUsed())

    expect(before).toBeNull()
    expect(second - first).toBeGreaterThanOrEqual(61_000)
    expect(app.now().getTime() - second).toBeLessThan(60_000)
  })

  test('are listed in pages of twenty', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    for (let count = 0; count < 21; count += 1) await createPoolToken(app, setting, { poolId: pool.id })
    const list = (query: string) =>
      send(setting.user.token, 'GET', `/agent-pools/${pool.id}/authentication-tokens${query}`)

    const first = (await list('')).json()
    const second = (await list('?page[number]=2')).json()
    const large = (await list('?page[size]=100')).json()

    expect(first.data).toHaveLength(20)
    expect(first.meta.pagination).toMatchObject({ 'page-size': 20, 'total-count': 21, 'next-page': 2 })
    expect(first.links).toMatchObject({ self: expect.any(String), next: expect.stringContaining('page') })
    expect(second.data).toHaveLength(1)
    expect(large.data).toHaveLength(21)
  })

  test.each([
    '',
    'nonsense',
    '[]',
    'null',
    '{}',
    '{"data":null}',
    '{"data":[]}',
    '{"data":{"type":"authentication-tokens"}}',
  ])('with the body %j are rejected as malformed', async (body) => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)

    const refused = await app.request({
      method: 'POST',
      url: `/api/v2/agent-pools/${pool.id}/authentication-tokens`,
      token: setting.user.token,
      body,
      headers: { 'content-type': 'application/vnd.api+json' },
    })

    expect(refused.status).toBe(422)
  })

  test('of a pool that does not exist are not found', async () => {
    const setting = await createRunSetting(app)
    const data = { type: 'authentication-tokens', attributes: { description: 'x' } }

    const list = await send(setting.user.token, 'GET', '/agent-pools/apool-none/authentication-tokens')
    const created = await send(setting.user.token, 'POST', '/agent-pools/apool-none/authentication-tokens', data)

    expect([list.status, created.status]).toEqual([404, 404])
  })

  test('show their secret only at creation', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const token = await createPoolToken(app, setting, { poolId: pool.id })

    const responses = await Promise.all([
      send(setting.user.token, 'GET', `/authentication-tokens/${token.id}`),
      send(setting.user.token, 'GET', `/agent-pools/${pool.id}/authentication-tokens`),
      send(setting.user.token, 'DELETE', `/authentication-tokens/${token.id}`),
    ])

    expect(responses.map(({ text }) => text.includes(token.attributes.token))).toEqual([false, false, false])
    expect(responses[2]?.text).toBe('')
  })
})
