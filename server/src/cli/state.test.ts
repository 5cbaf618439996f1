import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createTestApp, type TestApp } from '../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../testing/factories.ts'
import { lockedWorkspace, rawState, stateVersionBody } from '../testing/state-versions.ts'
import { runCli } from './cli.ts'

let app: TestApp
let url: string
let ada: TestUser
let directory: string
let printed = ''

beforeAll(async () => {
  app = await createTestApp()
  url = await app.listen()
  ada = await createUser(app)
  directory = await mkdtemp(join(tmpdir(), 'states-'))
})

afterAll(async () => {
  vi.restoreAllMocks()
  await rm(directory, { recursive: true, force: true })
})

beforeEach(() => {
  printed = ''
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      printed += String(text)
      return true
    })
  }
})

const state = async (...args: string[]) =>
  runCli(['node', 'groundstate', 'state', ...args, '--url', url, '--token', ada.token])

test('an import that skips a workspace reports it, and fails', async () => {
  const [source, target] = [await createOrganization(app, ada), await createOrganization(app, ada)]
  const workspace = await lockedWorkspace(app, source.name, ada)
  await workspace.create(rawState({ serial: 1 }))
  await workspace.unlock()
  const from = ['--from-url', url, '--from-token', ada.token, '--from-organization', source.name]
  const importIt = async (checkpoint: string) =>
    state('import', '--organization', target.name, ...from, '--checkpoint', join(directory, checkpoint))
  expect(await importIt('first')).toBe(0)
  const { data } = (
    await app.request({
      url: `/api/v2/organizations/${target.name}/workspaces/${workspace.name}`,
      token: ada.token,
    })
  ).json()
  const post = async (path: string, body: object) =>
    app.request({ method: 'POST', url: `/api/v2/workspaces/${data.id}/${path}`, token: ada.token, body })
  await post('actions/lock', {})
  await post('state-versions', stateVersionBody(rawState({ serial: 2, outputs: { mine: 'x' } })))
  await post('actions/unlock', {})
  printed = ''

  const code = await importIt('second')

  expect(code).toBe(1)
  expect(printed).toMatch(
    new RegExp(`groundstate: skipped workspace ${workspace.name}: its state has serial 2, which is ahead of .*\n`),
  )
})

test('the checkpoint file is named once there is progress', async () => {
  const { name } = await createOrganization(app, ada)
  const from = ['--from-url', url, '--from-token', ada.token]
  const importFrom = async (organization: string) =>
    state('import', '--organization', name, ...from, '--from-organization', organization)

  expect(await importFrom('nowhere')).toBe(1)
  expect(printed).toMatch(/^groundstate: .* has no organization nowhere[^\n]*\n$/)
  expect(await importFrom(name)).toBe(0)
  expect(printed).toContain('progress is recorded in')
})

test('a checkpoint that is a directory is named, and the workspace is not left locked', async () => {
  const [source, target] = [await createOrganization(app, ada), await createOrganization(app, ada)]
  const workspace = await lockedWorkspace(app, source.name, ada)
  await workspace.create(rawState({ serial: 1 }))
  const from = ['--from-url', url, '--from-token', ada.token, '--from-organization', source.name]

  const code = await state('import', '--organization', target.name, ...from, '--checkpoint', directory)

  expect(code).toBe(1)
  expect(printed).toContain(`groundstate: ${directory} can't be read: `)
  const path = `/api/v2/organizations/${target.name}/workspaces/${workspace.name}`
  const { attributes } = (await app.request({ url: path, token: ada.token })).json().data
  expect(attributes.locked).toBe(false)
})

test.each(['/dev/null/states', '/proc/groundstate/states'])('an export into %s fails with one line', async (path) => {
  const { name } = await createOrganization(app, ada)

  const code = await state('export', '--organization', name, '--directory', path)

  expect(code).toBe(1)
  expect(printed).toMatch(/^groundstate: [^\n]*directory[^\n]*\n$/)
})
