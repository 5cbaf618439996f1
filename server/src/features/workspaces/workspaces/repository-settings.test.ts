import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const tokenId = await connect()

async function send(method: 'POST' | 'PATCH', path: string, type: string, attributes: object) {
  const body = { data: { type, attributes } }
  return app.request({ method, url: `/api/v2/${path}`, token: owner.token, body })
}

async function connect(provider = 'github') {
  const attributes = { 'service-provider': provider, 'oauth-token-string': 'ghp_x' }
  const created = await send('POST', `organizations/${acme.name}/oauth-clients`, 'oauth-clients', attributes)
  return created.json().data.relationships['oauth-tokens'].data[0].id as string
}

const repository = (settings: object = {}) => ({ identifier: 'acme/network', 'oauth-token-id': tokenId, ...settings })

async function newWorkspace(attributes: object = {}) {
  const { id } = await createWorkspace(app, { organization: acme.name, actor: owner.actor })
  expect((await patch(id, attributes)).status).toBe(200)
  return id
}

async function patch(id: string, attributes: object) {
  const response = await send('PATCH', `workspaces/${id}`, 'workspaces', attributes)
  return { status: response.status, ...response.json() }
}

const TAGS = { 'tags-regex': '^v' }

test('a regular expression for tags disables file triggers', async () => {
  const id = await newWorkspace()

  const { data } = await patch(id, { 'vcs-repo': repository(TAGS) })

  expect(data.attributes['file-triggers-enabled']).toBe(false)
  expect(data.attributes['vcs-repo']).toMatchObject({ tags: true, 'tags-regex': '^v', branch: '' })
})

test.each([
  [{ 'file-triggers-enabled': true }, 'file-triggers-enabled must be false'],
  [{ 'trigger-prefixes': ['a'], 'file-triggers-enabled': true }, 'trigger-prefixes must be empty'],
  [{ 'trigger-patterns': ['a'], 'file-triggers-enabled': true }, 'trigger-patterns must be empty'],
])('a regular expression for tags excludes %j', async (settings, detail) => {
  const [empty, used, tagged] = await Promise.all([
    newWorkspace(),
    newWorkspace(settings),
    newWorkspace({ 'vcs-repo': repository(TAGS) }),
  ])

  const together = await patch(empty, { ...settings, 'vcs-repo': repository(TAGS) })
  const later = await patch(used, { 'file-triggers-enabled': true, 'vcs-repo': repository(TAGS) })
  const alone = await patch(tagged, settings)
  const withRepository = await patch(tagged, { ...settings, 'vcs-repo': repository({ branch: 'main' }) })
  const instead = await patch(tagged, { ...settings, 'vcs-repo': repository({ 'tags-regex': null }) })
  const without = await patch(tagged, { ...settings, 'vcs-repo': null })

  for (const refused of [together, later, alone, withRepository]) {
    expect(refused).toMatchObject({
      status: 422,
      errors: [
        { detail: expect.stringContaining(detail), source: { pointer: '/data/attributes/vcs-repo/tags-regex' } },
      ],
    })
  }
  expect([instead.status, without.status]).toEqual([200, 200])
})

test('a regular expression for tags with trigger patterns is an error that names both', async () => {
  const { errors } = await patch(await newWorkspace(), { 'trigger-patterns': ['a'], 'vcs-repo': repository(TAGS) })

  expect(errors[0].detail).toMatch(/^vcs-repo has a tags-regex, so trigger-patterns must be empty/)
})

test.each([
  [{ 'vcs-repo': { 'tags-regex': '(' } }, 'vcs-repo/tags-regex', 'tags-regex (: '],
  [{ 'vcs-repo': { 'tags-regex': String.raw`(a)\1` } }, 'vcs-repo/tags-regex', 'tags-regex (a)\\1: '],
  [{ 'vcs-repo': { branch: 'a b' } }, 'vcs-repo/branch', 'branch a b: '],
  [{ 'vcs-repo': { branch: '-c..d' } }, 'vcs-repo/branch', 'branch -c..d: '],
  [{ 'vcs-repo': { identifier: 'network' } }, 'vcs-repo/identifier', 'identifier network is no repository'],
  [{ 'vcs-repo': { identifier: '../../user/x' } }, 'vcs-repo/identifier', 'identifier ../../user/x is no'],
  [{ 'trigger-patterns': ['a/**', 'a/{b,c'] }, 'trigger-patterns/1', 'trigger-patterns a/{b,c: it has a {'],
  [{ 'trigger-patterns': ['a/[b'] }, 'trigger-patterns/0', 'trigger-patterns a/[b: it has a ['],
  [{ 'trigger-patterns': ['a/[z-b]'] }, 'trigger-patterns/0', 'trigger-patterns a/[z-b]: '],
])('%j is refused', async (attributes, pointer, detail) => {
  const id = await newWorkspace()
  const input = 'vcs-repo' in attributes ? { 'vcs-repo': repository(attributes['vcs-repo']) } : attributes

  const { status, errors } = await patch(id, input)

  expect({ status, pointer: errors[0].source.pointer }).toEqual({
    status: 422,
    pointer: `/data/attributes/${pointer}`,
  })
  expect(errors[0].detail).toContain(detail)
})

test('absent members of the repository keep their values', async () => {
  const id = await newWorkspace({ 'vcs-repo': repository({ branch: 'stable', 'ingress-submodules': true }) })

  const { data } = await patch(id, { 'vcs-repo': { identifier: 'acme/other' } })

  expect(data.attributes['vcs-repo']).toMatchObject({
    identifier: 'acme/other',
    branch: 'stable',
    'ingress-submodules': true,
    'oauth-token-id': tokenId,
  })
})

test('an identifier that the host cannot have is refused', async () => {
  const id = await newWorkspace()
  const azureTokenId = await connect('ado_services')

  const { status, errors } = await patch(id, { 'vcs-repo': repository({ 'oauth-token-id': azureTokenId }) })

  expect(status).toBe(422)
  expect(errors).toMatchObject([
    {
      detail: expect.stringContaining('its identifier is not organization/project/_git/repository'),
      source: { pointer: '/data/attributes/vcs-repo/identifier' },
    },
  ])
})
