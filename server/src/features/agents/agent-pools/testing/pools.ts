import { expect } from 'vitest'
import type { TestApp } from '../../../../testing/app.ts'

type Setting = { user: { token: string }; organization: string }

export async function createPool(
  app: TestApp,
  setting: Setting,
  {
    name = 'pool',
    attributes,
    relationships = {},
  }: { name?: string; attributes?: object; relationships?: object } = {},
) {
  const url = `/api/v2/organizations/${setting.organization}/agent-pools`
  const data = { type: 'agent-pools', attributes: { name, ...attributes }, relationships }
  const response = await app.request({ method: 'POST', url, token: setting.user.token, body: { data } })
  expect(response.status).toBe(201)
  return response.json().data
}

export async function createPoolToken(
  app: TestApp,
  setting: Pick<Setting, 'user'>,
  { poolId, type = 'authentication-tokens' }: { poolId: string; type?: string },
) {
  const url = `/api/v2/agent-pools/${poolId}/authentication-tokens`
  const data = { type, attributes: { description: 'for the rack' } }
  const response = await app.request({ method: 'POST', url, token: setting.user.token, body: { data } })
  expect(response.status).toBe(201)
  return response.json().data
}
