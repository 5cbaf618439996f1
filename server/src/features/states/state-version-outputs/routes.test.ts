import { describe, expect, test } from 'vitest'
import { createUser } from '../../../testing/factories.ts'
import {
  createStateSetting,
  lockedWorkspace,
  md5,
  rawState,
  type StateClient,
  stateClient,
  upload,
} from '../../../testing/state-versions.ts'

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

    const response = (
      await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)
    ).json()

    expect(response.data.map((output: any) => output.attributes)).toEqual([
      { name: 'password', sensitive: true, type: 'string', 'detailed-type': 'string', value: null },
      { name: 'region', sensitive: false, type: 'string', 'detailed-type': 'string', value: 'eu' },
      { name: 'zones', sensitive: false, type: 'array', 'detailed-type': ['list', 'string'], value: ['a', 'b'] },
    ])
  })

  test('show a sensitive value when requested individually', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { relationships } = await workspace.create(rawState({ outputs }))

    const response = await workspace.request('GET', `/state-version-outputs/${relationships.outputs.data[0].id}`)

    expect(response.json().data).toMatchObject({
      type: 'state-version-outputs',
      attributes: { name: 'password', value: 'hunter2', sensitive: true },
    })
  })

  test('with a value that the workspace marks sensitive are sensitive, even if the engine has lost the mark', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const copied = { pin: { value: 1234567, type: 'number' }, users: { value: ['ada', 'swordfish'], type: 'dynamic' } }
    const { id } = await workspace.create(rawState({ outputs: { region: 'eu', flag: 'on', ...copied } }))
    const createVariable = async (path: string, attributes: object) =>
      workspace.request('POST', path, { data: { type: 'vars', attributes: { category: 'terraform', ...attributes } } })
    await createVariable(`/workspaces/${workspace.id}/vars`, { key: 'a', value: '1234567', sensitive: true })
    await createVariable(`/workspaces/${workspace.id}/vars`, { key: 'b', value: 'on', sensitive: true })
    const set = { type: 'varsets', attributes: { name: `global of ${workspace.id}`, global: true } }
    const created = await workspace.request('POST', `/organizations/${organization}/varsets`, { data: set })
    await createVariable(`/varsets/${created.json().data.id}/relationships/vars`, {
      key: 'c',
      value: '["swordfish"]',
      hcl: true,
      sensitive: true,
    })

    const current = await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)
    const listed = await workspace.request('GET', `/state-versions/${id}/outputs?withhold-sensitive=true`)
    const included = await workspace.request('GET', `/workspaces/${workspace.id}?include=outputs`)
    const pin = current.json().data.find((output: any) => output.attributes.name === 'pin')
    const shown = await workspace.request('GET', `/state-version-outputs/${pin.id}`)

    for (const outputs of [current.json().data, listed.json().data, included.json().included]) {
      expect(outputs.map(({ attributes: { name, sensitive, value } }: any) => [name, sensitive, value])).toEqual([
        ['flag', false, 'on'],
        ['pin', true, null],
        ['region', false, 'eu'],
        ['users', true, null],
      ])
    }
    expect(shown.json().data.attributes).toMatchObject({ sensitive: true, value: 1234567 })
    const audit = await app.db.selectFrom('audit_events').select('resource_id').where('action', '=', 'read').execute()
    expect(audit.map((event) => event.resource_id)).toContain(pin.id)
    await workspace.request('DELETE', `/varsets/${created.json().data.id}`)
  })

  test('with a former value of a sensitive variable are sensitive', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { data } = (await workspace.request('GET', `/workspaces/${workspace.id}`)).json()
    const project = data.relationships.project
    const names = ['updated', 'deleted', 'bulk', 'ofSet', 'ofDeletedSet', 'ofRemovedSet', 'ofGlobalSet', 'ofProject']
    const large = { value: [...Array(20_000).keys()].map((n) => `${100_000 + n} former large`), type: 'dynamic' }
    const outputs = {
      ...Object.fromEntries(names.map((name) => [name, `former ${name}`])),
      large,
      other: 'xormer bulk',
    }
    await workspace.create(rawState({ outputs }))
    const send = async (method: 'DELETE' | 'PATCH' | 'POST', path: string, data?: unknown) => {
      const response = await workspace.request(method, path, data === undefined ? undefined : { data })
      if (response.status >= 300) throw new Error(response.text)
      return response.status === 204 ? undefined : response.json().data?.id
    }
    const variable = (key: string, value = `former ${key}`) => ({
      type: 'vars',
      attributes: { category: 'terraform', key, value, sensitive: true },
    })
    const vars = `/workspaces/${workspace.id}/vars`
    const newSet = async (name: string, global = false) => {
      const attributes = { name: `${name} of ${workspace.id}`, global }
      const relationships = { vars: { data: [variable(name)] }, ...(!global && { projects: { data: [project.data] } }) }
      return send('POST', `/organizations/${organization}/varsets`, { type: 'varsets', attributes, relationships })
    }
    const ids = new Map<string, string>()
    for (const name of ['updated', 'deleted', 'bulk']) ids.set(name, await send('POST', vars, variable(name)))
    ids.set('large', await send('POST', vars, variable('large', '119999 former large')))
    for (const name of ['ofSet', 'ofDeletedSet', 'ofRemovedSet', 'ofProject']) ids.set(name, await newSet(name))
    ids.set('ofGlobalSet', await newSet('ofGlobalSet', true))

    await send('PATCH', `${vars}/${ids.get('updated')}`, variable('updated', 'a new value'))
    await send('PATCH', `${vars}/${ids.get('large')}`, variable('large', 'a new value'))
    await send('DELETE', `${vars}/${ids.get('deleted')}`)
    await send('PATCH', `/workspaces/${workspace.id}/relationships/vars`, [
      { ...variable('bulk', 'a new value'), id: ids.get('bulk') },
    ])
    const set = await workspace.request('GET', `/varsets/${ids.get('ofSet')}/relationships/vars`)
    await send('DELETE', `/varsets/${ids.get('ofSet')}/relationships/vars/${set.json().data[0].id}`)
    await send('DELETE', `/varsets/${ids.get('ofDeletedSet')}`)
    await send('DELETE', `/varsets/${ids.get('ofRemovedSet')}/relationships/projects`, [project.data])
    await send('PATCH', `/varsets/${ids.get('ofGlobalSet')}`, { type: 'varsets', attributes: { global: false } })
    const elsewhere = await send('POST', `/organizations/${organization}/projects`, {
      type: 'projects',
      attributes: { name: `elsewhere ${workspace.id}` },
    })
    const moved = { type: 'workspaces', id: workspace.id }
    await send('POST', `/projects/${elsewhere}/relationships/workspaces`, [moved])
    const current = await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)

    const shown = current.json().data.filter(({ attributes }: any) => !attributes.sensitive)
    expect(current.json().data).toHaveLength(10)
    expect(shown.map(({ attributes }: any) => attributes.value)).toEqual(['xormer bulk'])
    const rows = await app.db.selectFrom('former_sensitive_values').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain('former ')
    for (const name of ['ofSet', 'ofRemovedSet', 'ofGlobalSet', 'ofProject'])
      await send('DELETE', `/varsets/${ids.get(name)}`)
  })

  test('of a version withhold sensitive values on request', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ outputs }))

    const shown = (await workspace.request('GET', `/state-versions/${id}/outputs`)).json()
    const withheld = (await workspace.request('GET', `/state-versions/${id}/outputs?withhold-sensitive=true`)).json()

    const values = (response: any) => response.data.map((output: any) => output.attributes.value)
    expect(values(shown)).toEqual(['hunter2', 'eu', ['a', 'b']])
    expect(values(withheld)).toEqual([null, 'eu', ['a', 'b']])
  })

  test('record an audit event when a sensitive one is requested', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { relationships } = await workspace.create(rawState({ outputs }))
    const [password, region] = relationships.outputs.data.map(({ id }: { id: string }) => id)

    for (const id of [password, region]) await workspace.request('GET', `/state-version-outputs/${id}`)

    const events = await app.db
      .selectFrom('audit_events')
      .select(['action', 'resource_id', 'actor_id', 'meta'])
      .where('resource_type', '=', 'state_version_output')
      .where('resource_id', 'in', [password, region])
      .execute()
    expect(events).toMatchObject([
      { action: 'read', resource_id: password, actor_id: ada.id, meta: { workspace: workspace.id, name: 'password' } },
    ])
  })

  test('are an empty list if there is no state', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)

    const response = await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)

    expect(response.status).toBe(200)
    expect(response.json().data).toEqual([])
  })

  test('of a version are paginated', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ outputs }))

    const response = (await workspace.request('GET', `/state-versions/${id}/outputs?page%5Bsize%5D=2`)).json()

    expect(response.data).toHaveLength(2)
    expect(response.meta.pagination['total-count']).toBe(3)
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

  test('of a pending version are those of its request', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const raw = rawState({ outputs })
    const given = Buffer.from(JSON.stringify({ region: { sensitive: false, type: 'string', value: 'us' } }))
    const pending = await workspace.create(raw, { state: undefined, 'json-state-outputs': given.toString('base64') })

    await upload(app, pending.attributes['hosted-state-upload-url'], raw)

    const response = (await workspace.request('GET', `/state-versions/${pending.id}/outputs`)).json()
    expect(response.data.map((output: any) => [output.attributes.name, output.attributes.value])).toEqual([
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

describe('numbers beyond double precision keep their digits', () => {
  const WIDE = '12345678901234567890'
  const FINE = '0.12345678901234567890'

  /** A raw state with an output of these numbers; `padding` makes it too large to be extracted immediately. */
  function wideState(padding = 0) {
    const outputs = { wide: { value: ['@'], type: ['list', 'number'] } }
    const raw = rawState({ outputs, resources: ['one'], padding })
    return Buffer.from(raw.toString().replace('"@"', `${WIDE},${FINE}`))
  }

  async function currentOutputs(workspace: StateClient) {
    return (await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)).text
  }

  test.each([
    ['small', 0],
    ['large', 400_000],
  ])('in a %s state', async (_, padding) => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const raw = wideState(padding)
    await workspace.create(rawState(), { state: raw.toString('base64'), md5: md5(raw) })

    const listed = await currentOutputs(workspace)
    const included = await workspace.request('GET', `/workspaces/${workspace.id}?include=outputs`)

    expect(listed).toContain(`"value":[${WIDE},${FINE}]`)
    expect(included.text).toContain(`"value":[${WIDE},${FINE}]`)
  })

  test('in json-state-outputs, where missing types are inferred', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const given = Buffer.from(`{"wide":{"value":${WIDE}}}`).toString('base64')

    await workspace.create(rawState(), { 'json-state-outputs': given })

    expect(await currentOutputs(workspace)).toContain(`"type":"number","value":${WIDE},"detailed-type":"number"`)
  })

  test('in the copy of a rollback', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const raw = wideState()
    const { id } = await workspace.create(rawState(), { state: raw.toString('base64'), md5: md5(raw) })
    await workspace.create(rawState({ serial: 2 }))

    await workspace.rollBack(id)

    expect(await currentOutputs(workspace)).toContain(`"value":[${WIDE},${FINE}]`)
  })
})
