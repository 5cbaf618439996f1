import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../testing/factories.ts'
import { download, lockedWorkspace, md5, rawState, type StateClient, stateClient } from '../testing/state-versions.ts'
import { exportStates, importStates } from './state-transfer.ts'
import type { Progress } from './state-place.ts'

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

const versionsOf = (organization: string, name: string) =>
  `/state-versions?filter[organization][name]=${organization}&filter[workspace][name]=${name}&filter[status]=finalized`

async function contents(organization: string, name: string) {
  const { data } = (await app.request({ url: `/api/v2${versionsOf(organization, name)}`, token: ada.token })).json()
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

test('a version that was begun and is gone is written anew', async () => {
  const { name } = await workspaceWith(history)
  const [{ id }] = (await (await clientIn(source, name)).request('GET', versionsOf(source, name))).json().data
  const checkpointFile = join(folder, 'progress')
  await writeFile(checkpointFile, `${name} ${id} as sv-gone\n`)

  await importStates({ from: server(source), to: { ...server(target), checkpointFile } })

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

test('a workspace that somebody else has locked is left alone, and the others are not', async () => {
  const { name } = await workspaceWith(history)
  const { name: other } = await workspaceWith(history)
  await exportStates({ from: server(source), folder })
  await importStates({ from: { folder }, to: server(target), workspaces: [name] })
  const locked = await clientIn(target, name)
  await app.db
    .updateTable('workspaces')
    .set({ locked_by_type: 'user', locked_by_id: 'user-somebody', locked_at: app.now() })
    .where('id', '=', locked.id)
    .execute()

  const { workspaces, refused } = await importStates({ from: { folder }, to: server(target) })

  expect(workspaces).toBe(1)
  expect(refused).toEqual([{ workspace: name, reason: expect.stringContaining('is locked by') }])
  expect(await contents(target, other)).toEqual(history.map(String))
})

describe('a lock that was there before', () => {
  const isLocked = async (name: string) => {
    const answer = await app.request({ url: `/api/v2/organizations/${target}/workspaces/${name}`, token: ada.token })
    return answer.json().data.attributes.locked
  }

  test('stays when an import writes under it, and when there is nothing to write', async () => {
    const { name } = await workspaceWith(history)
    await exportStates({ from: server(source), folder })
    await importStates({ from: { folder }, to: server(target), latest: 1, workspaces: [name] })
    const client = await clientIn(target, name)
    await client.lock()

    await importStates({ from: { folder }, to: server(target) })
    expect(await isLocked(name)).toBe(true)
    const own = rawState({ serial: 9 })
    await client.create(own)
    const { refused } = await importStates({ from: { folder }, to: server(target) })

    expect(refused).toMatchObject([{ workspace: name, reason: expect.stringContaining('ahead') }])
    expect(await isLocked(name)).toBe(true)
  })

  test('is released when it is the one of an import that was killed', async () => {
    const { name } = await workspaceWith(history)
    await exportStates({ from: server(source), folder })
    await importStates({ from: { folder }, to: server(target) })
    const { id, request } = await clientIn(target, name)
    await request('POST', `/workspaces/${id}/actions/lock`, { reason: 'import of states' })

    await importStates({ from: { folder }, to: server(target) })

    expect(await isLocked(name)).toBe(false)
  })
})

test('a file that is missing is named, with what to do', async () => {
  const { name } = await workspaceWith(history)
  await exportStates({ from: server(source), folder })
  const file = (await readdir(join(folder, name))).find((entry) => entry.startsWith('000004-')) ?? ''
  await rm(join(folder, name, file))

  const refused = await importStates({ from: { folder }, to: server(target) }).catch((error: Error) => error.message)

  expect(refused).toContain(`${join(folder, name, file)} is missing`)
  expect(refused).toContain(`serial 4 of the workspace ${name}. Put the file back, or export`)
  expect(refused).not.toMatch(/ENOENT|\n/)
})

describe('without the note of what has arrived', () => {
  const again = async (options: Partial<Parameters<typeof importStates>[0]> = {}) =>
    importStates({
      from: server(source),
      to: { ...server(target), checkpointFile: join(folder, `progress-${Math.random()}`) },
      ...options,
    })
  /** A state that is added where the history was imported to. */
  const addTo = async (name: string, raw: Buffer, attributes: object = {}) => {
    const client = await clientIn(target, name)
    await client.lock()
    await client.create(raw, { ...attributes })
    await client.unlock()
  }

  test('what is there is not written again', async () => {
    const { name } = await workspaceWith(history)
    await again()

    const result = await again()

    expect(result).toMatchObject({ versions: 3, skipped: 3, bytes: 0, refused: [] })
    expect(await contents(target, name)).toEqual(history.map(String))
  })

  test('what came later on the source is added', async () => {
    const workspace = await workspaceWith(history)
    await again()
    await workspace.lock()
    await workspace.create(rawState({ serial: 6 }))
    await workspace.unlock()

    const result = await again()

    expect(result).toMatchObject({ versions: 4, skipped: 3, refused: [] })
    expect(await contents(target, workspace.name)).toHaveLength(4)
  })

  test('older states are not put over newer ones', async () => {
    const { name } = await workspaceWith(history)
    await again({ latest: 1 })

    const result = await again()

    expect(result).toMatchObject({ versions: 3, skipped: 1, leftOut: 2, refused: [] })
    expect(await contents(target, name)).toEqual([String(history[2])])
  })

  test.each([
    ['ahead', rawState({ serial: 9 }), {}, /serial 9.*ahead.*serial 5/],
    [
      'at the same serial with another content',
      rawState({ serial: 5, outputs: { z: 'z' } }),
      { force: true },
      /serial 5.*md5/,
    ],
    [
      'of another lineage',
      rawState({ serial: 9, lineage: 'other' }),
      { force: true },
      /lineage other.*lineage 8c6a3f0e/,
    ],
  ])('a workspace that is %s is left alone, and the others are not', async (_, own, attributes, reason) => {
    const { name } = await workspaceWith(history)
    await again()
    await addTo(name, own, attributes)
    const { name: other } = await workspaceWith(history)

    const result = await again()

    expect(result.refused).toEqual([{ workspace: name, reason: expect.stringMatching(reason) }])
    expect((await contents(target, name)).at(-1)).toBe(String(own))
    expect(await contents(target, other)).toEqual(history.map(String))
    const left = await app.request({ url: `/api/v2/organizations/${target}/workspaces/${name}`, token: ada.token })
    expect(left.json().data.attributes.locked).toBe(false)
  })

  test('with replace the states go on top of what is there', async () => {
    const { name } = await workspaceWith(history)
    await again()
    await addTo(name, rawState({ serial: 9, lineage: 'other' }), { force: true })

    const result = await again({ replace: true })

    expect(result.refused).toEqual([])
    expect((await contents(target, name)).at(-1)).toBe(String(history[2]))
  })
})

test('with its note, too, a workspace that has moved on is left alone', async () => {
  const workspace = await workspaceWith(history)
  const importThem = async () =>
    importStates({ from: server(source), to: { ...server(target), checkpointFile: join(folder, 'progress') } })
  await importThem()
  const client = await clientIn(target, workspace.name)
  await client.lock()
  await client.create(rawState({ serial: 6, outputs: { mine: 'x' } }))
  await client.unlock()
  await workspace.lock()
  await workspace.create(rawState({ serial: 6, outputs: { theirs: 'x' } }))
  await workspace.unlock()

  const { refused } = await importThem()

  expect(refused).toMatchObject([{ workspace: workspace.name }])
  expect(await contents(target, workspace.name)).toHaveLength(4)
})

describe('an import from a folder', () => {
  const refusal = async (path: string) =>
    importStates({ from: { folder: path }, to: server(target) }).catch((error: Error) => error.message)
  const workspaces = async () =>
    (await app.request({ url: `/api/v2/organizations/${target}/workspaces`, token: ada.token })).json().data

  test('that no export has written is refused, and makes no workspaces of the folders that lie in it', async () => {
    await mkdir(join(folder, 'node_modules', 'zod'), { recursive: true })
    await mkdir(join(folder, '.git'))
    const file = join(folder, 'package.json')
    await writeFile(file, '{}')

    expect(await refusal(folder)).toBe(`${folder} holds no exported states: no folder in it has a history.jsonl`)
    expect(await refusal(join(folder, 'nowhere'))).toBe(`there is no folder ${join(folder, 'nowhere')}`)
    expect(await refusal(file)).toBe(`${file} is no folder`)
    expect(await workspaces()).toEqual([])
  })

  test('passes over what others have put beside the states', async () => {
    const { name } = await workspaceWith(history)
    await exportStates({ from: server(source), folder })
    await mkdir(join(folder, '.git'))
    await mkdir(join(folder, 'notes'))

    const imported = await importStates({ from: { folder }, to: server(target) })

    expect(imported).toMatchObject({ workspaces: 1, versions: 3 })
    expect(await workspaces()).toMatchObject([{ attributes: { name } }])
  })
})

test('a state that the server refuses is told, not that its workspace can not be unlocked', async () => {
  const { name } = await workspaceWith([rawState({ serial: 1 })])
  await exportStates({ from: server(source), folder })
  const journal = join(folder, name, 'history.jsonl')
  const [line = ''] = (await readFile(journal, 'utf8')).split('\n')
  const file = (await readdir(join(folder, name))).find((entry) => entry.endsWith('.tfstate')) ?? ''
  await writeFile(join(folder, name, file), 'no state')
  await writeFile(journal, `${JSON.stringify({ ...JSON.parse(line), md5: md5(Buffer.from('no state')) })}\n`)

  const imported = importStates({ from: { folder }, to: server(target) })

  await expect(imported).rejects.toThrow('the state is not a JSON object')
})

test('a line of the history that is broken is named', async () => {
  const { name } = await workspaceWith(history)
  await exportStates({ from: server(source), folder })
  const file = join(folder, name, 'history.jsonl')
  const lines = (await readFile(file, 'utf8')).split('\n')
  const breakLine = async (line: string) => writeFile(file, lines.with(1, line).join('\n'))

  await breakLine('{"id":')
  await expect(importStates({ from: { folder }, to: server(target) })).rejects.toThrow(`${file}, line 2: `)
  await breakLine('{"id":"sv-1"}')
  await expect(importStates({ from: { folder }, to: server(target) })).rejects.toThrow(`${file}, line 2: `)
})

test('a folder holds the states of one organization', async () => {
  await workspaceWith(history)
  await exportStates({ from: server(source), folder })

  const other = exportStates({ from: server(target), folder })

  await expect(other).rejects.toThrow(
    `${folder} holds the states of ${source} on ${url}, not those of ${target} on ${url}`,
  )
})

test.each([
  ['/proc/groundstate/states', "can't make the folder"],
  ['/dev/null/states', 'is no folder'],
])('to export into %s is refused in a line', async (path, reason) => {
  await workspaceWith(history)

  const refused = await exportStates({ from: server(source), folder: path }).catch((error: Error) => error.message)

  expect(refused).toContain(reason)
  expect(refused).not.toContain('\n')
})

async function clientIn(organization: string, name: string): Promise<StateClient> {
  const answer = await app.request({
    url: `/api/v2/organizations/${organization}/workspaces/${name}`,
    token: ada.token,
  })
  return stateClient(app, { id: answer.json().data.id, name }, ada.token)
}
