import { describe, expect, test } from 'vitest'
import { createUser } from '../../../testing/factories.ts'
import { createStateSetting, lockedWorkspace, rawState, stateClient, upload } from '../../../testing/state-versions.ts'

const { app, ada, organization } = await createStateSetting()

describe('outputs', () => {
  const outputs = {
    region: 'eu',
    zones: { value: ['a', 'b'], type: ['list', 'string'] },
    password: { value: 'hunter2', type: 'string', sensitive: true },
  }

  test('of the current state withhold sensitive values, all on one page', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    await workspace.create(rawState({ outputs }))

    const answer = (await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)).json()

    expect(answer.data.map((output: any) => output.attributes)).toEqual([
      { name: 'password', sensitive: true, type: 'string', 'detailed-type': 'string', value: null },
      { name: 'region', sensitive: false, type: 'string', 'detailed-type': 'string', value: 'eu' },
      { name: 'zones', sensitive: false, type: 'array', 'detailed-type': ['list', 'string'], value: ['a', 'b'] },
    ])
  })

  test('show a sensitive value one by one', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { relationships } = await workspace.create(rawState({ outputs }))

    const answer = await workspace.request('GET', `/state-version-outputs/${relationships.outputs.data[0].id}`)

    expect(answer.json().data).toMatchObject({
      type: 'state-version-outputs',
      attributes: { name: 'password', value: 'hunter2', sensitive: true },
    })
  })

  test('are an empty list while there is no state', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)

    const answer = await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)

    expect(answer.status).toBe(200)
    expect(answer.json().data).toEqual([])
  })

  test('of a version come in pages', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ outputs }))

    const answer = (await workspace.request('GET', `/state-versions/${id}/outputs?page%5Bsize%5D=2`)).json()

    expect(answer.data).toHaveLength(2)
    expect(answer.meta.pagination['total-count']).toBe(3)
  })

  test('are not found by a stranger', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id, relationships } = await workspace.create(rawState({ outputs }))
    const stranger = stateClient(app, workspace, (await createUser(app)).token)

    for (const path of [
      `/state-version-outputs/${relationships.outputs.data[0].id}`,
      `/state-versions/${id}/outputs`,
      `/workspaces/${workspace.id}/current-state-version-outputs`,
    ]) {
      expect((await stranger.request('GET', path)).status).toBe(404)
    }
  })

  test('of a version that is pending came along with it', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const raw = rawState({ outputs })
    const given = Buffer.from(JSON.stringify({ region: { sensitive: false, type: 'string', value: 'us' } }))
    const pending = await workspace.create(raw, { state: undefined, 'json-state-outputs': given.toString('base64') })

    await upload(app, pending.attributes['hosted-state-upload-url'], raw)

    const answer = (await workspace.request('GET', `/state-versions/${pending.id}/outputs`)).json()
    expect(answer.data.map((output: any) => [output.attributes.name, output.attributes.value])).toEqual([
      ['password', 'hunter2'],
      ['region', 'us'],
      ['zones', ['a', 'b']],
    ])
  })

  test('are encrypted in the database', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ outputs }))

    const rows = await app.db
      .selectFrom('state_version_outputs')
      .select('value')
      .where('state_version_id', '=', id)
      .execute()
    const contents = await app.db
      .selectFrom('state_contents')
      .select('sealed')
      .where('state_version_id', '=', id)
      .execute()
    for (const bytes of [...rows.map((row) => row.value), ...contents.map((row) => row.sealed)]) {
      expect(bytes.includes('hunter2')).toBe(false)
    }
  })
})
