import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRunSetting } from '../../../testing/runs.ts'
import { createPool, createPoolToken } from './testing/pools.ts'

const app = await createTestApp()

async function send(token: string, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, data?: object) {
  return app.request({ method, url: `/api/v2${path}`, token, ...(data && { body: { data } }) })
}

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
        attributes: { description: 'for the rack', 'last-used-at': null, token: expect.any(String) },
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
  ])('with the body %j are refused', async (data) => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)

    expect((await send(setting.user.token, 'POST', `/agent-pools/${pool.id}/authentication-tokens`, data)).status).toBe(
      422,
    )
  })

  test('end when they are deleted, and so do their agents', async () => {
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
})
