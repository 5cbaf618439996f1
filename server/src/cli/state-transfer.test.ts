import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../testing/factories.ts'
import { download, lockedWorkspace, rawState, type StateClient, stateClient } from '../testing/state-versions.ts'
import { exportStates, importStates, type Progress } from './state-transfer.ts'

let app: TestApp
let url: string
let ada: TestUser
let folder: string
let source: string
let target: string
const folders: string[] = []

beforeAll(async () => {
  app = await createTestApp()
  url = await app.listen()
  ada = await createUser(app)
})

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'states-'))
  folders.push(folder)
  source = (await createOrganization(app, ada)).name
  target = (await createOrganization(app, ada)).name
})

afterAll(async () => {
  for (const path of folders) await rm(path, { recursive: true, force: true })
})

const server = (organization: string) => ({ url, token: ada.token, organization })

async function workspaceWith(states: readonly Buffer[]) {
  const workspace = await lockedWorkspace(app, source, ada)
  for (const raw of states) await workspace.create(raw)
  await workspace.unlock()
  return workspace
}

async function contents(organization: string, name: string) {
  const query = `filter[organization][name]=${organization}&filter[workspace][name]=${name}&filter[status]=finalized`
  const { data } = (await app.request({ url: `/api/v2/state-versions?${query}`, token: ada.token })).json()
  const found = await Promise.all(data.map((one: any) => download(app, one.attributes['hosted-state-download-url'])))
  return found.map((answer) => answer.text).toReversed()
}

const history = [
  rawState({ serial: 1 }),
  rawState({ serial: 4, outputs: { a: 'b' }, resources: ['big'], padding: 500_000 }),
  rawState({ serial: 5 }),
]

test('states go into a folder and from there into another organization, byte for byte', async () => {
  const first = await workspaceWith(history)
  const second = await workspaceWith([rawState({ serial: 7, lineage: 'another' })])
  const empty = await workspaceWith([])
  const progress: Progress[] = []

  const exported = await exportStates({ from: server(source), folder, onProgress: (one) => progress.push(one) })
  const imported = await importStates({ from: { folder }, to: server(target) })

  expect(exported).toMatchObject({ workspaces: 3, versions: 4, skipped: 0 })
  expect(progress.filter((one) => one.workspace === first.name).map((one) => one.done)).toEqual([0, 1, 2, 3])
  expect(imported).toMatchObject({ workspaces: 3, versions: 4 })
  expect(await contents(target, first.name)).toEqual(history.map(String))
  expect(await contents(target, second.name)).toHaveLength(1)
  expect(await contents(target, empty.name)).toEqual([])
  const workspace = await app.request({
    url: `/api/v2/organizations/${target}/workspaces/${first.name}`,
    token: ada.token,
  })
  expect(workspace.json().data.attributes.locked).toBe(false)
})

test('states go from server to server', async () => {
  const first = await workspaceWith(history)

  await importStates({ from: server(source), to: server(target), workspaces: [first.name], latest: 2 })

  expect(await contents(target, first.name)).toEqual(history.slice(1).map(String))
})

test('the JSON state comes along', async () => {
  const workspace = await lockedWorkspace(app, source, ada)
  await workspace.create(rawState(), { 'json-state': Buffer.from('{"a":1}').toString('base64') })
  await exportStates({ from: server(source), folder })

  await importStates({ from: { folder }, to: server(target) })

  const imported = await clientIn(target, workspace.name)
  const { attributes } = (await imported.current()).json().data
  expect((await download(app, attributes['hosted-json-state-download-url'])).text).toBe('{"a":1}')
})

test('what was cut off goes on where it stopped', async () => {
  const { name } = await workspaceWith(history)
  const cutOff = async (
    run: (options: { signal: AbortSignal; onProgress: (one: Progress) => void }) => Promise<unknown>,
  ) => {
    const abort = new AbortController()
    const onProgress = ({ done }: Progress) => done === 2 && abort.abort()
    await expect(run({ signal: abort.signal, onProgress })).rejects.toThrow('aborted')
  }
  await cutOff((options) => exportStates({ ...options, from: server(source), folder }))
  const exported = await exportStates({ from: server(source), folder })
  await cutOff((options) => importStates({ ...options, from: { folder }, to: server(target) }))

  const imported = await importStates({ from: { folder }, to: server(target) })

  expect(exported).toMatchObject({ versions: 3, skipped: 2 })
  expect(imported).toMatchObject({ versions: 3, skipped: 2 })
  expect(await contents(target, name)).toEqual(history.map(String))
})

test('a version whose last answer got lost is not written twice', async () => {
  const { name } = await workspaceWith(history)
  const checkpointFile = join(folder, 'progress')
  const importThem = async () =>
    importStates({ from: server(source), to: { ...server(target), checkpointFile }, workspaces: [name] })
  await importThem()
  const noted = await readFile(checkpointFile, 'utf8')
  await writeFile(checkpointFile, noted.slice(0, noted.lastIndexOf(' done') + 3))

  const again = await importThem()

  expect(again).toMatchObject({ versions: 3, skipped: 3 })
  expect(await contents(target, name)).toEqual(history.map(String))
})

test('a token or an organization that is not known is named', async () => {
  const exportFrom = async (from: object) => exportStates({ from: { ...server(source), ...from }, folder })

  await expect(exportFrom({ token: 'wrong' })).rejects.toThrow("doesn't know the token")
  await expect(exportFrom({ organization: 'nowhere' })).rejects.toThrow('has no organization nowhere')
  await expect(exportFrom({ url: 'http://127.0.0.1:1' })).rejects.toThrow("can't be reached")
})

test('a file that was changed on the way is refused', async () => {
  const { name } = await workspaceWith(history)
  await exportStates({ from: server(source), folder })
  const file = (await readdir(join(folder, name))).find((one) => one.endsWith('.tfstate')) ?? ''
  await writeFile(join(folder, name, file), `${await readFile(join(folder, name, file), 'utf8')} `)

  await expect(importStates({ from: { folder }, to: server(target) })).rejects.toThrow('was changed')
})

test('a workspace that somebody else has locked is left alone', async () => {
  const { name } = await workspaceWith(history)
  await exportStates({ from: server(source), folder })
  await importStates({ from: { folder }, to: server(target) })
  const other = await clientIn(target, name)
  await app.db
    .updateTable('workspaces')
    .set({ locked_by_type: 'user', locked_by_id: 'user-somebody', locked_at: app.now() })
    .where('id', '=', other.id)
    .execute()

  await expect(importStates({ from: { folder }, to: server(target) })).rejects.toThrow('is locked by')
})

async function clientIn(organization: string, name: string): Promise<StateClient> {
  const answer = await app.request({
    url: `/api/v2/organizations/${organization}/workspaces/${name}`,
    token: ada.token,
  })
  return stateClient(app, { id: answer.json().data.id, name }, ada.token)
}
