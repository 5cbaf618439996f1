import { describe, expect, test } from 'vitest'
import { createStateSetting, lockedWorkspace, rawState } from '../../../testing/state-versions.ts'

const { app, ada, organization } = await createStateSetting()

describe('the resources of a workspace', () => {
  test('are the instances of its current state', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ resources: ['web', 'db'] }))

    const response = (await workspace.request('GET', `/workspaces/${workspace.id}/resources`)).json()

    expect(response.data.map((resource: any) => resource.attributes)).toMatchObject([
      { address: 'terraform_data.db', name: 'db', 'provider-type': 'terraform_data', module: 'root' },
      { address: 'terraform_data.web', 'modified-by-state-version-id': id, 'name-index': null },
    ])
    const found = (await workspace.request('GET', `/workspaces/${workspace.id}/resources?q=web&sort=name:desc`)).json()
    expect(found.meta.pagination['total-count']).toBe(1)
  })

  test('are counted by module and by type, and listed by either', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const provider = 'provider["registry.terraform.io/hashicorp/random"]'
    const resource = (type: string, name: string, module?: string) => ({
      ...(module !== undefined && { module }),
      mode: 'managed',
      type,
      name,
      provider,
      instances: [{ schema_version: 0, attributes: {} }],
    })
    await workspace.create(
      stateWith(
        resource('random_pet', 'a'),
        resource('random_pet', 'b', 'module.net'),
        resource('random_id', 'c', 'module.net'),
      ),
    )
    const of = async (path: string) =>
      (await workspace.request('GET', `/workspaces/${workspace.id}/${path}`)).json().data
    const names = async (query: string) =>
      (await of(`resources?${query}`)).map(({ attributes }: any) => attributes.name)

    const counts = await of('resource-counts')

    expect(counts.attributes).toEqual({
      total: 3,
      modules: [
        { name: 'net', count: 2 },
        { name: 'root', count: 1 },
      ],
      types: [
        { name: 'random_pet', count: 2 },
        { name: 'random_id', count: 1 },
      ],
    })
    expect(await names('filter[module]=net')).toEqual(['b', 'c'])
    expect(await names('filter[type]=random_pet')).toEqual(['a', 'b'])
    expect(await names('filter[module]=net&filter[type]=random_pet&q=PET')).toEqual(['b'])
  })

  test('have `tainted`, which is unknown for states extracted by earlier releases', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const instance = { schema_version: 0, attributes: {} }
    const { id } = await workspace.create(
      stateWith({
        mode: 'managed',
        type: 'random_pet',
        name: 'a',
        provider: 'provider["registry.terraform.io/hashicorp/random"]',
        instances: [
          { index_key: 0, ...instance },
          { index_key: 1, ...instance, status: 'tainted' },
        ],
      }),
    )
    const tainted = async () => {
      const { data } = (await workspace.request('GET', `/workspaces/${workspace.id}/resources`)).json()
      return data.map(({ attributes }: any) => attributes.tainted)
    }

    const version = (await workspace.request('GET', `/state-versions/${id}`)).json()
    const now = await tainted()
    const { instances } = await app.db
      .selectFrom('state_versions')
      .select('instances')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const before = instances?.toString('utf8').replaceAll(/,"tainted":(true|false)/g, '') ?? ''
    await app.db
      .updateTable('state_versions')
      .set({ instances: Buffer.from(before) })
      .where('id', '=', id)
      .execute()

    expect(version.data.attributes.resources).toMatchObject([{ name: 'a', count: 2, tainted: 1 }])
    expect(now).toEqual([false, true])
    expect(await tainted()).toEqual([null, null])
  })

  test.each([
    ['module.media_bucket', 0, 'media_bucket', 'media_bucket.aws_s3_bucket.this[0]', '0'],
    ['module.net.module.deep', undefined, 'net.deep', 'net.deep.aws_s3_bucket.this', null],
    ['module.net[1].module.deep', 'b', 'net[1].deep', 'net[1].deep.aws_s3_bucket.this["b"]', 'b'],
    [
      'module.net["a\\"].module.b"]',
      'module.c',
      'net["a\\"].module.b"]',
      'net["a\\"].module.b"].aws_s3_bucket.this["module.c"]',
      'module.c',
    ],
  ])('have addresses without the keyword module: %s', async (module, key, shown, address, index) => {
    const workspace = await lockedWorkspace(app, organization, ada)
    await workspace.create(
      stateWith({
        module,
        mode: 'managed',
        type: 'aws_s3_bucket',
        name: 'this',
        provider: `${module}.provider["registry.terraform.io/hashicorp/aws"]`,
        instances: [{ index_key: key, schema_version: 0, attributes: {} }],
      }),
    )

    const list = (await workspace.request('GET', `/workspaces/${workspace.id}/resources`)).json()
    const found = await workspace.request(
      'GET',
      `/workspaces/${workspace.id}/resources?q=${encodeURIComponent(address)}`,
    )

    expect(list.data).toMatchObject([
      { attributes: { address, module: shown, name: 'this', provider: 'hashicorp/aws', 'name-index': index } },
    ])
    expect(found.json().data).toEqual(list.data)
  })

  test.each(['__proto__', 'constructor', 'toString:desc', 'address'])('cannot be sorted by %s', async (sort) => {
    const workspace = await lockedWorkspace(app, organization, ada)
    await workspace.create(rawState({ resources: ['web', 'db'] }))

    const response = await workspace.request('GET', `/workspaces/${workspace.id}/resources?sort=${sort}`)

    expect(response.status).toBe(400)
    expect(response.json().errors[0]).toMatchObject({ source: { parameter: 'sort' } })
  })

  test('are an empty list without a state', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)

    expect((await workspace.request('GET', `/workspaces/${workspace.id}/resources`)).json().data).toEqual([])
    const counts = (await workspace.request('GET', `/workspaces/${workspace.id}/resource-counts`)).json()
    expect(counts.data.attributes.total).toBe(0)
  })
})

/** A raw state with these resources. */
function stateWith(...resources: object[]) {
  const state = JSON.parse(rawState().toString())
  return Buffer.from(JSON.stringify({ ...state, resources }))
}
