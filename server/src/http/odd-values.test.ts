import { updateProjectBody } from '@groundstate/contract/projects'
import { updateVariableSetBody } from '@groundstate/contract/variable-sets'
import { updateVariableBody } from '@groundstate/contract/variables'
import { updateWorkspaceBody } from '@groundstate/contract/workspaces'
import { expect, test } from 'vitest'
import { createTestApp, type TestResponse } from '../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const { name: organization } = await createOrganization(app, owner)
const workspace = await createWorkspace(app, { organization, actor: owner.actor })
const project = await createProject(app, { organization, actor: owner.actor })

async function send(method: 'POST' | 'PATCH', path: string, type: string, attributes: object) {
  return app.request({ method, url: `/api/v2/${path}`, token: owner.token, body: { data: { type, attributes } } })
}

const set = (await send('POST', `organizations/${organization}/varsets`, 'varsets', { name: 'odd' })).json().data.id
const variable = (
  await send('POST', `workspaces/${workspace.id}/vars`, 'vars', { key: 'odd', category: 'terraform' })
).json().data.id

/** The names of the attributes in a body. */
const namesIn = ({ shape }: { shape: { data: { shape: { attributes: { out: { shape: object } } } } } }) =>
  Object.keys(shape.data.shape.attributes.out.shape)

const RESOURCES = [
  ['workspaces', `workspaces/${workspace.id}`, namesIn(updateWorkspaceBody)],
  ['projects', `projects/${project.id}`, namesIn(updateProjectBody)],
  ['vars', `workspaces/${workspace.id}/vars/${variable}`, namesIn(updateVariableBody)],
  ['varsets', `varsets/${set}`, namesIn(updateVariableSetBody)],
] as const

const VALUES: Record<string, unknown> = {
  'an empty text': '',
  spaces: '   ',
  null: null,
  'ten thousand characters': 'x'.repeat(10_000),
  'an emoji': '👩‍🚀',
  'a null character': 'a\0b',
  'half a pair': 'a\ud800b',
  'lines and quotes': 'a\r\n"b\'\\',
  'a number': 5,
  'a huge number': 1e300,
  'an object': { a: {} },
  'a list': ['', 5, null],
}

/** The fault of a response about the attribute; undefined for a success or a clear error. */
function problem(response: TestResponse, name: string) {
  if (response.status === 200) return undefined
  const errors: { detail: string; source?: { pointer?: string } }[] = response.json().errors
  const isClear =
    response.status === 422 &&
    errors.every(({ detail, source }) => detail && source?.pointer?.startsWith(`/data/attributes/${name}`))
  return isClear ? undefined : `${response.status} ${response.text.slice(0, 300)}`
}

test.each(RESOURCES)('odd values of %s are accepted or rejected with a pointer', async (type, path, names) => {
  expect(names.length).toBeGreaterThan(3)
  for (const [value, given] of Object.entries(VALUES)) {
    const found = await Promise.all(
      names.map(async (name) => [name, problem(await send('PATCH', path, type, { [name]: given }), name)] as const),
    )

    expect([value, found.filter(([, wrong]) => wrong !== undefined)]).toEqual([value, []])
  }
})
