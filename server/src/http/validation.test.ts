import { expect, test } from 'vitest'
import { z } from 'zod'
import { createTestApp } from '../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../testing/factories.ts'
import { parseBody } from './validation.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const workspace = await createWorkspace(app, { organization: acme.name, actor: owner.actor })
const organizationUrl = `/organizations/${acme.name}`

async function errorsOf(path: string, body: unknown) {
  const response = await app.request({ method: 'POST', url: `/api/v2${path}`, token: owner.token, body })
  expect(response.status).toBe(422)
  return response
    .json()
    .errors.map(({ detail, source }: { detail: string; source?: { pointer: string } }) => [detail, source?.pointer])
}

const data = (type: string, attributes: Record<string, unknown>) => ({ data: { type, attributes } })
const tag = (key: string) => ({ data: [{ type: 'tag-bindings', attributes: { key, value: 'x' } }] })
const attribute = (name: string) => `/data/attributes/${name}`

test.each<[string, () => [path: string, body: unknown], [detail: string, pointer: string]]>([
  [
    'the value of a name',
    () => [`${organizationUrl}/workspaces`, data('workspaces', { name: 'a b' })],
    ['Name may only contain letters, numbers, underscores and hyphens: it is "a b"', attribute('name')],
  ],
  [
    'an empty name once',
    () => [`${organizationUrl}/projects`, data('projects', { name: '' })],
    [`name is "": name can't be blank`, attribute('name')],
  ],
  [
    'an empty tag key once',
    () => [
      `${organizationUrl}/projects`,
      { data: { ...data('projects', { name: 'x' }).data, relationships: { 'tag-bindings': tag('') } } },
    ],
    [`key is "": tag key can't be blank`, '/data/relationships/tag-bindings/data/0/attributes/key'],
  ],
  [
    'the reason of a lock, in the form that it was sent in',
    () => [`/workspaces/${workspace.id}/actions/lock`, { reason: 5 }],
    ['reason is 5; it must be a string', '/reason'],
  ],
  [
    'the reason of a lock in a document',
    () => [`/workspaces/${workspace.id}/actions/lock`, data('', { reason: 5 })],
    ['reason is 5; it must be a string', attribute('reason')],
  ],
  [
    'the rule for a whole number',
    () => [`/workspaces/${workspace.id}/state-versions`, data('state-versions', { serial: 6.5, md5: 'a'.repeat(32) })],
    ['serial is 6.5; it must be a whole number', attribute('serial')],
  ],
  [
    'an empty id',
    () => ['/runs', { data: { type: 'runs', relationships: { workspace: { data: { type: 'workspaces', id: '' } } } } }],
    ['id is ""; it must not be empty', '/data/relationships/workspace/data/id'],
  ],
  [
    'the maximum length of a string',
    () => [
      `/workspaces/${workspace.id}/state-versions`,
      data('state-versions', { serial: 1, md5: 'a'.repeat(32), lineage: 'x'.repeat(1001) }),
    ],
    [expect.stringMatching(/^lineage is "x+…"; it must have at most 1000 characters$/), attribute('lineage')],
  ],
  ['a missing body', () => [`${organizationUrl}/projects`, undefined], ['body is missing', '']],
  [
    'an acronym in its usual spelling',
    () => [`${organizationUrl}/tasks`, data('tasks', { name: 'x', url: '', category: 'task' })],
    [`url is "": URL can't be blank`, attribute('url')],
  ],
  [
    'an item of a list',
    () => [
      `${organizationUrl}/tasks`,
      data('tasks', {
        name: 'x',
        url: 'https://x.test',
        category: 'task',
        'global-configuration': { stages: ['bogus'] },
      }),
    ],
    [
      'stages/0 is "bogus"; it must be one of "pre_plan", "post_plan", "pre_apply", "post_apply"',
      attribute('global-configuration/stages/0'),
    ],
  ],
  [
    'the expected type, which may be empty',
    () => [`${organizationUrl}/authentication-token`, data('authentication-token', {})],
    ['type is "authentication-token"; it must be "authentication-tokens"', '/data/type'],
  ],
  [
    'the discriminating type of a document',
    () => [
      `/workspaces/${workspace.id}/relationships/data-retention-policy`,
      data('bogus', { 'delete-older-than-n-days': 3 }),
    ],
    [
      'type is "bogus"; it must be one of "data-retention-policies", "data-retention-policy-delete-olders", "data-retention-policy-dont-deletes"',
      '/data/type',
    ],
  ],
  [
    'a missing relationship and its expected value',
    () => [`/workspaces/${workspace.id}/run-triggers`, { data: { type: 'run-triggers' } }],
    ['sourceable is missing: it must be {"data": {"type": "workspaces", "id": "…"}}', '/data/relationships/sourceable'],
  ],
  [
    'only the exceeded limit of a number',
    () => [`${organizationUrl}/agent-pools`, data('agent-pools', { name: 'x', 'max-concurrent-jobs': 1e99 })],
    ['max-concurrent-jobs is 1e+99; it must be at most 100000', attribute('max-concurrent-jobs')],
  ],
  [
    'the relationship in place of an attribute that is not one',
    () => [
      `${organizationUrl}/tasks`,
      data('tasks', { name: 'x', url: 'https://x.test', category: 'task', 'agent-pool-id': 'apool-1' }),
    ],
    ['agent-pool-id is not an attribute of a run task: use the relationship agent-pool', attribute('agent-pool-id')],
  ],
  [
    'the agent pool that is needed',
    () => [
      `${organizationUrl}/projects`,
      data('projects', { name: 'x', 'default-execution-mode': 'agent', 'setting-overwrites': {} }),
    ],
    ["Default agent pool must be specified when using 'agent' execution mode", attribute('default-agent-pool-id')],
  ],
  [
    'the configuration that a run is without',
    () => [
      '/runs',
      {
        data: {
          ...data('runs', {}).data,
          relationships: { workspace: { data: { type: 'workspaces', id: workspace.id } } },
        },
      },
    ],
    [
      'configuration version is missing: the workspace has no configuration yet, upload one first',
      '/data/relationships/configuration-version',
    ],
  ],
])('a response names %s', async (_, request, expected) => {
  expect(await errorsOf(...request())).toEqual([expected])
})

test.each<[schema: z.ZodType, given: unknown, rule: string]>([
  [z.record(z.string(), z.string()), 5, 'it must be an object'],
  [z.int(), 6.5, 'it must be a whole number'],
  [z.number().positive(), 0, 'it must be above 0'],
  [z.int().min(1), 0, 'it must be at least 1'],
  [z.string().min(8), 'short', 'it must have at least 8 characters'],
  [z.string().length(1), 'ab', 'it must have exactly 1 character'],
  [z.array(z.string()).min(1), [], 'it must not be empty'],
])('an error is in plain English, not the terms of the schema library: %#', (schema, given, rule) => {
  const parse = () => parseBody(z.object({ field: schema }), { field: given })

  expect(parse).toThrow(`field is ${JSON.stringify(given)}; ${rule}`)
})

test.each(['plan', 'run-concurrency'])('an error explains where the %s of an organization is set', async (name) => {
  const response = await app.request({
    method: 'PATCH',
    url: `/api/v2${organizationUrl}`,
    token: owner.token,
    body: data('organizations', { [name]: 1 }),
  })

  expect(response.status).toBe(422)
  expect(response.json().errors).toMatchObject([
    {
      detail: `${name} is set by site administrators, with PATCH /admin/organizations/:name`,
      source: { pointer: attribute(name) },
    },
  ])
})

test('a response repeats no password', async () => {
  const response = await app.request({
    method: 'PATCH',
    url: '/api/v2/account/password',
    token: owner.token,
    body: data('users', { current_password: 4711, password: 'hunter2', password_confirmation: 'hunter2' }),
  })

  const { errors } = response.json()
  expect(response.status).toBe(422)
  expect(response.text).not.toMatch(/4711|hunter2/)
  expect(errors.map(({ detail }: { detail: string }) => detail)).toEqual([
    'current_password is invalid (value not shown); it must be a string',
    expect.stringContaining('password is too short'),
  ])
})

test.each([
  [{ value: 471100123 }, '/data/attributes/value', 'value is invalid (value not shown); it must be a string'],
  [
    [{ value: 471100123, token: 471100123 }],
    '/data/attributes',
    'attributes is [{"value":"…","token":"…"}]; it must be an object',
  ],
])('a response repeats no value of a variable: %j', async (attributes, pointer, detail) => {
  const given = Array.isArray(attributes) ? attributes : { key: 'k', category: 'env', sensitive: true, ...attributes }
  const body = { data: { type: 'vars', attributes: given } }

  const response = await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${workspace.id}/vars`,
    token: owner.token,
    body,
  })

  expect(response.status).toBe(422)
  expect(response.json().errors).toMatchObject([{ detail, source: { pointer } }])
})

test('a response repeats the beginning of a long value only', async () => {
  const body = data('reserved-tag-keys', { key: `${'x'.repeat(300_000)}%` })

  const [[detail, pointer]] = await errorsOf(`${organizationUrl}/reserved-tag-keys`, body)

  expect(detail).toContain('and is "xxx')
  expect(detail.length).toBeLessThan(1100)
  expect(pointer).toBe('/data/attributes/key')
})

const repeated = (length: number, item: object) => ({ data: Array.from({ length }, () => item) })

test.each<[string, path: string, body: unknown, problem: [detail: string, pointer: string]]>([
  [
    'tags',
    `${organizationUrl}/workspaces`,
    {
      data: {
        attributes: { name: 'a' },
        relationships: { tags: repeated(1200, { type: 'tags', id: 'a' }) },
      },
    },
    ['data has 1200 items; it must have at most 1000', '/data/relationships/tags/data'],
  ],
  [
    'variables',
    `${organizationUrl}/varsets`,
    { data: { attributes: { name: 'a' }, relationships: { vars: repeated(1001, { type: 'vars', id: 'a' }) } } },
    ['data has 1001 items; it must have at most 1000', '/data/relationships/vars/data'],
  ],
  [
    'trigger patterns',
    `${organizationUrl}/workspaces`,
    data('workspaces', { name: 'a', 'trigger-patterns': Array(301).fill('a') }),
    ['trigger-patterns has 301 items; it must have at most 300', attribute('trigger-patterns')],
  ],
  [
    'invalid items, which are not examined',
    `/workspaces/${workspace.id}/relationships/tags`,
    { data: Array(500_000).fill(0) },
    ['data has 500000 items; it must have at most 1000', '/data'],
  ],
])('an error about too many items has their number and the maximum: %s', async (_, path, body, problem) => {
  expect(await errorsOf(path, body)).toEqual([problem])
})

test('an error about a large body names the limit', async () => {
  const body = data('projects', { name: 'x'.repeat(12_000_000) })

  const response = await app.request({
    method: 'POST',
    url: `/api/v2${organizationUrl}/projects`,
    token: owner.token,
    body,
  })

  expect(response.status).toBe(413)
  expect(response.json().errors[0].detail).toMatch(/^the body is larger than the \d+ bytes that this endpoint takes$/)
})
