import { describe, expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../testing/factories.ts'
import { countingStatements } from '../testing/statements.ts'

const counted = countingStatements()
const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const ofAcme = `organizations/${acme.name}`
const project = await createProject(app, { organization: acme.name, actor: owner.actor, name: 'other' })

async function send(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) {
  const response = await app.request({ method, url: `/api/v2/${path}`, token: owner.token, body })
  if (response.status >= 300) throw new Error(response.text)
  return response.text === '' ? undefined : response.json().data
}

let count = 0
const unique = () => `n${(count += 1)}`
const newWorkspace = async () => createWorkspace(app, { organization: acme.name, actor: owner.actor })
const many = <T>(length: number, create: (index: number) => T) => Array.from({ length }, (_, index) => create(index))
const inTurn = async <T>(length: number, create: () => Promise<T>) => {
  const made: T[] = []
  for (let index = 0; index < length; index += 1) made.push(await create())
  return made
}
const variable = (index: number) => ({
  type: 'vars',
  attributes: { key: `k${index}`, value: `${index}`, category: 'env', sensitive: index % 2 === 1 },
})
const set = (data: object[], id?: string) => ({
  data: { type: 'varsets', id, attributes: { name: unique() }, relationships: { vars: { data } } },
})
const idsOf = (items: readonly { id: string }[], type: string) => ({ data: items.map(({ id }) => ({ type, id })) })

/** Prepares a request with `length` items; the request is the function that it resolves to. */
const REQUESTS: Record<string, (length: number) => Promise<() => Promise<unknown>>> = {
  'a set of variables is created': async (length) => () =>
    send('POST', `${ofAcme}/varsets`, set(many(length, variable))),
  'variables of a set are changed': async (length) => {
    const { id, relationships } = await send('POST', `${ofAcme}/varsets`, set(many(length, variable)))
    const changes = relationships.vars.data.map((item: object) => ({ ...item, attributes: { value: 'new' } }))
    return () => send('PATCH', `varsets/${id}`, set(changes))
  },
  'variables of a workspace are changed': async (length) => {
    const { id } = await newWorkspace()
    const made = await inTurn(length, async () =>
      send('POST', `workspaces/${id}/vars`, {
        data: { ...variable(0), attributes: { key: unique(), category: 'env' } },
      }),
    )
    const data = made.map((item) => ({ type: 'vars', id: item.id, attributes: { value: 'new' } }))
    return () => send('PATCH', `workspaces/${id}/relationships/vars`, { data })
  },
  'tags are bound': async (length) => {
    const { id } = await newWorkspace()
    const data = many(length, () => ({ type: 'tag-bindings', attributes: { key: unique(), value: 'v' } }))
    return () => send('PATCH', `workspaces/${id}/tag-bindings`, { data })
  },
  'workspaces get a tag': async (length) => {
    const tagged = await newWorkspace()
    const name = unique()
    await send('POST', `workspaces/${tagged.id}/relationships/tags`, { data: [{ type: 'tags', attributes: { name } }] })
    const [tag] = await send('GET', `${ofAcme}/tags?q=${name}`)
    const workspaces = await inTurn(length, newWorkspace)
    return () => send('POST', `tags/${tag.id}/relationships/workspaces`, idsOf(workspaces, 'workspaces'))
  },
  'workspaces are moved': async (length) => {
    const workspaces = await inTurn(length, newWorkspace)
    return () => send('POST', `projects/${project.id}/relationships/workspaces`, idsOf(workspaces, 'workspaces'))
  },
  'a member joins teams': async (length) => {
    const teams = await inTurn(length, async () =>
      send('POST', `${ofAcme}/teams`, { data: { type: 'teams', attributes: { name: unique() } } }),
    )
    const attributes = { email: `${unique()}@example.com` }
    const data = { type: 'organization-memberships', attributes, relationships: { teams: idsOf(teams, 'teams') } }
    return () => send('POST', `${ofAcme}/organization-memberships`, { data })
  },
}

test.each(Object.entries(REQUESTS))(
  'the number of statements does not depend on that of the items: %s',
  async (_, prepare) => {
    const measured = async (length: number) => {
      const request = await prepare(length)
      return (await counted(request)).statements
    }
    await measured(2)

    // The use of a token is recorded now and then.
    expect(await measured(30)).toBeLessThanOrEqual((await measured(2)) + 2)
  },
)

test('a list of the maximum length is written', async () => {
  const created = await send('POST', `${ofAcme}/varsets`, set(many(1000, variable)))

  const variables = await send('GET', `varsets/${created.id}/relationships/vars`)
  expect(variables).toHaveLength(1000)
  expect(variables[0].attributes).toMatchObject({ key: 'k0', value: '0', sensitive: false })
})

test('an error about one of many variables names it', async () => {
  const { id } = await send('POST', `${ofAcme}/varsets`, set([variable(1), variable(2)]))
  const response = async (data: object[]) =>
    app.request({ method: 'PATCH', url: `/api/v2/varsets/${id}`, token: owner.token, body: set(data) })

  const repeated = await response([variable(3), variable(4), variable(3)])
  const taken = await response([variable(5), variable(2), variable(6)])

  const pointer = (index: number) => `/data/relationships/vars/data/${index}/attributes/key`
  expect(repeated.json().errors).toMatchObject([
    { detail: expect.stringContaining('k3'), source: { pointer: pointer(2) } },
  ])
  expect(taken.json().errors).toMatchObject([
    { detail: expect.stringContaining('k2'), source: { pointer: pointer(1) } },
  ])
})

test('a variable that a request changes twice has both changes', async () => {
  const created = await send('POST', `${ofAcme}/varsets`, set([variable(0)]))
  const { id } = created.relationships.vars.data[0]

  await send(
    'PATCH',
    `varsets/${created.id}`,
    set([
      { type: 'vars', id, attributes: { value: 'new' } },
      { type: 'vars', id, attributes: { description: 'why' } },
    ]),
  )

  const [changed] = await send('GET', `varsets/${created.id}/relationships/vars`)
  expect(changed.attributes).toMatchObject({ value: 'new', description: 'why' })
})

/** Creates a workspace, or a set, with variables `k0`, `k1` …, and returns a function that renames them by index. */
const RENAMES = {
  workspace: async (length: number) => {
    const { id } = await newWorkspace()
    const made = await Promise.all(
      many(length, async (index) => send('POST', `workspaces/${id}/vars`, { data: variable(index) })),
    )
    const url = `workspaces/${id}/relationships/vars`
    return { made, url, list: `workspaces/${id}/vars`, body: (data: object[]): object => ({ data }) }
  },
  set: async (length: number) => {
    const { id, relationships } = await send('POST', `${ofAcme}/varsets`, set(many(length, variable)))
    return { made: relationships.vars.data, url: `varsets/${id}`, list: `varsets/${id}/relationships/vars`, body: set }
  },
}

async function rename(kind: keyof typeof RENAMES, length: number, renames: [index: number, key: string][]) {
  const { made, url, list, body } = await RENAMES[kind](length)
  const data = renames.map(([index, key]) => ({ type: 'vars', id: made[index].id, attributes: { key } }))
  const response = await app.request({ method: 'PATCH', url: `/api/v2/${url}`, token: owner.token, body: body(data) })
  const variables: { id: string; attributes: { key: string } }[] = await send('GET', list)
  const keys = made.map((item: { id: string }) => variables.find(({ id }) => id === item.id)?.attributes.key)
  return { response, keys }
}

describe.each(['workspace', 'set'] as const)('variables of a %s', (kind) => {
  test.each<{ fact: string; length: number; renames: [number, string][]; keys: string[] }>([
    {
      fact: 'a variable gets the key that another gives up',
      length: 2,
      renames: [
        [1, 'k2'],
        [0, 'k1'],
      ],
      keys: ['k1', 'k2'],
    },
    {
      fact: 'many keys are shifted',
      length: 12,
      renames: many(12, (index): [number, string] => [11 - index, `k${12 - index}`]),
      keys: many(12, (index) => `k${index + 1}`),
    },
    {
      fact: 'two keys are swapped through a temporary one',
      length: 2,
      renames: [
        [0, 'tmp'],
        [1, 'k0'],
        [0, 'k1'],
      ],
      keys: ['k1', 'k0'],
    },
  ])('$fact', async ({ length, renames, keys: expected }) => {
    const { response, keys } = await rename(kind, length, renames)

    expect(response.status).toBeLessThan(300)
    expect(keys).toEqual(expected)
  })

  test('a taken key is an error at the change that sets it', async () => {
    const { response, keys } = await rename(kind, 4, [
      [0, 'k3'],
      [1, 'k3'],
      [1, 'other'],
      [2, 'k2'],
    ])

    const path = kind === 'set' ? '/data/relationships/vars/data' : '/data'
    expect(response.status).toBe(422)
    expect(response.json().errors).toMatchObject([
      { detail: expect.stringContaining('k3'), source: { pointer: `${path}/0/attributes/key` } },
    ])
    expect(keys).toEqual(['k0', 'k1', 'k2', 'k3'])
  })
})

test('a new variable of a set gets the key that another gives up', async () => {
  const created = await send('POST', `${ofAcme}/varsets`, set([variable(0)]))
  const { id } = created.relationships.vars.data[0]

  await send('PATCH', `varsets/${created.id}`, set([{ type: 'vars', id, attributes: { key: 'k1' } }, variable(0)]))

  const variables = await send('GET', `varsets/${created.id}/relationships/vars`)
  expect(variables.map((item: { attributes: object }) => item.attributes)).toMatchObject([{ key: 'k0' }, { key: 'k1' }])
})

test('a member who is named twice joins a team once', async () => {
  const team = await send('POST', `${ofAcme}/teams`, { data: { type: 'teams', attributes: { name: unique() } } })
  const twice = [{ id: owner.username }, { id: owner.username }]

  await send('POST', `teams/${team.id}/relationships/users`, idsOf(twice, 'users'))

  const shown = await send('GET', `teams/${team.id}`)
  expect(shown.attributes['users-count']).toBe(1)
})
