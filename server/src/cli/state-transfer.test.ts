import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listen } from '../testing/ports.ts'
import { download, lockedWorkspace, md5, rawState } from '../testing/state-versions.ts'
import { localCertificate } from '../tls/authority.ts'
import type { Progress } from './state-source-and-target.ts'
import { exportStates, importStates } from './state-transfer.ts'
import {
  clientIn,
  contents,
  HISTORY,
  serverOf,
  useTransferSetting,
  versionsOf,
  workspaceWith,
} from './testing/transfer-setting.ts'

const setting = useTransferSetting()

test('states are exported to a directory and imported into another organization, byte for byte', async () => {
  const first = await workspaceWith(setting, HISTORY)
  const second = await workspaceWith(setting, [rawState({ serial: 7, lineage: 'another' })])
  const empty = await workspaceWith(setting, [])
  const progress: Progress[] = []

  const exported = await exportStates({
    from: serverOf(setting, setting.source),
    directory: setting.directory,
    onProgress: (one) => progress.push(one),
  })
  const imported = await importStates({ from: { directory: setting.directory }, to: serverOf(setting, setting.target) })

  expect(exported).toMatchObject({ workspaces: 3, versions: 4, skipped: 0 })
  expect(progress.filter((one) => one.workspace === first.name).map((one) => one.done)).toEqual([0, 1, 2, 3])
  expect(imported).toMatchObject({ workspaces: 3, versions: 4 })
  expect(await contents(setting, setting.target, first.name)).toEqual(HISTORY.map(String))
  expect(await contents(setting, setting.target, second.name)).toHaveLength(1)
  expect(await contents(setting, setting.target, empty.name)).toEqual([])
  const workspace = await setting.app.request({
    url: `/api/v2/organizations/${setting.target}/workspaces/${first.name}`,
    token: setting.ada.token,
  })
  expect(workspace.json().data.attributes.locked).toBe(false)
})

test('states are copied from server to server', async () => {
  const first = await workspaceWith(setting, HISTORY)

  await importStates({
    from: serverOf(setting, setting.source),
    to: serverOf(setting, setting.target),
    workspaces: [first.name],
    latest: 2,
  })

  expect(await contents(setting, setting.target, first.name)).toEqual(HISTORY.slice(1).map(String))
})

test('the JSON state is copied', async () => {
  const workspace = await lockedWorkspace(setting.app, setting.source, setting.ada)
  await workspace.create(rawState(), { 'json-state': Buffer.from('{"a":1}').toString('base64') })
  await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })

  await importStates({ from: { directory: setting.directory }, to: serverOf(setting, setting.target) })

  const imported = await clientIn(setting, setting.target, workspace.name)
  const { attributes } = (await imported.current()).json().data
  expect((await download(setting.app, attributes['hosted-json-state-download-url'])).text).toBe('{"a":1}')
})

test('an interrupted transfer continues', async () => {
  const { name } = await workspaceWith(setting, HISTORY)
  const cutOff = async (
    run: (options: { signal: AbortSignal; onProgress: (one: Progress) => void }) => Promise<unknown>,
  ) => {
    const abort = new AbortController()
    const onProgress = ({ done }: Progress) => done === 2 && abort.abort()
    await expect(run({ signal: abort.signal, onProgress })).rejects.toThrow('aborted')
  }
  await cutOff((options) =>
    exportStates({ ...options, from: serverOf(setting, setting.source), directory: setting.directory }),
  )
  const exported = await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })
  await cutOff((options) =>
    importStates({ ...options, from: { directory: setting.directory }, to: serverOf(setting, setting.target) }),
  )

  const imported = await importStates({ from: { directory: setting.directory }, to: serverOf(setting, setting.target) })

  expect(exported).toMatchObject({ versions: 3, skipped: 2 })
  expect(imported).toMatchObject({ versions: 3, skipped: 2 })
  expect(await contents(setting, setting.target, name)).toEqual(HISTORY.map(String))
})

test('a version whose last response was lost is not written twice', async () => {
  const { name } = await workspaceWith(setting, HISTORY)
  const checkpointFile = join(setting.directory, 'progress')
  const importThem = async () =>
    importStates({
      from: serverOf(setting, setting.source),
      to: { ...serverOf(setting, setting.target), checkpointFile },
      workspaces: [name],
    })
  await importThem()
  const noted = await readFile(checkpointFile, 'utf8')
  await writeFile(checkpointFile, noted.slice(0, noted.lastIndexOf(' done') + 3))

  const again = await importThem()

  expect(again).toMatchObject({ versions: 3, skipped: 3 })
  expect(await contents(setting, setting.target, name)).toEqual(HISTORY.map(String))
})

test('a version that was started but is missing is written again', async () => {
  const { name } = await workspaceWith(setting, HISTORY)
  const [{ id }] = (
    await (await clientIn(setting, setting.source, name)).request('GET', versionsOf(setting.source, name))
  ).json().data
  const checkpointFile = join(setting.directory, 'progress')
  await writeFile(checkpointFile, `${name} ${id} as sv-gone\n`)

  await importStates({
    from: serverOf(setting, setting.source),
    to: { ...serverOf(setting, setting.target), checkpointFile },
  })

  expect(await contents(setting, setting.target, name)).toEqual(HISTORY.map(String))
})

test('an unknown token or organization is named', async () => {
  const exportFrom = async (from: object) =>
    exportStates({ from: { ...serverOf(setting, setting.source), ...from }, directory: setting.directory })

  await expect(exportFrom({ token: 'wrong' })).rejects.toThrow("doesn't know the token")
  await expect(exportFrom({ organization: 'nowhere' })).rejects.toThrow('has no organization nowhere')
  await expect(exportFrom({ url: 'http://127.0.0.1:1' })).rejects.toThrow("can't be reached")
})

test('a server with a certificate of an unknown authority is rejected with the variable that trusts it', async () => {
  await using server = createServer(await localCertificate(setting.directory, []))
  const from = { ...serverOf(setting, setting.source), url: `https://localhost:${await listen(server)}` }

  await expect(exportStates({ from, directory: setting.directory })).rejects.toThrow(
    /can't be reached: .* NODE_EXTRA_CA_CERTS/,
  )
})

test('a modified file is rejected', async () => {
  const { name } = await workspaceWith(setting, HISTORY)
  await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })
  const file = (await readdir(join(setting.directory, name))).find((one) => one.endsWith('.tfstate')) ?? ''
  await writeFile(
    join(setting.directory, name, file),
    `${await readFile(join(setting.directory, name, file), 'utf8')} `,
  )

  await expect(
    importStates({ from: { directory: setting.directory }, to: serverOf(setting, setting.target) }),
  ).rejects.toThrow('was changed')
})

test('a workspace locked by another user is skipped, and the others are not', async () => {
  const { name } = await workspaceWith(setting, HISTORY)
  const { name: other } = await workspaceWith(setting, HISTORY)
  await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })
  await importStates({
    from: { directory: setting.directory },
    to: serverOf(setting, setting.target),
    workspaces: [name],
  })
  const locked = await clientIn(setting, setting.target, name)
  await setting.app.db
    .updateTable('workspaces')
    .set({ locked_by_type: 'user', locked_by_id: 'user-somebody', locked_at: setting.app.now() })
    .where('id', '=', locked.id)
    .execute()

  const { workspaces, refused } = await importStates({
    from: { directory: setting.directory },
    to: serverOf(setting, setting.target),
  })

  expect(workspaces).toBe(1)
  expect(refused).toEqual([{ workspace: name, reason: expect.stringContaining('is locked by') }])
  expect(await contents(setting, setting.target, other)).toEqual(HISTORY.map(String))
})

describe('an existing lock', () => {
  const isLocked = async (name: string) => {
    const response = await setting.app.request({
      url: `/api/v2/organizations/${setting.target}/workspaces/${name}`,
      token: setting.ada.token,
    })
    return response.json().data.attributes.locked
  }

  test('is kept by an import, with and without new states', async () => {
    const { name } = await workspaceWith(setting, HISTORY)
    await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })
    await importStates({
      from: { directory: setting.directory },
      to: serverOf(setting, setting.target),
      latest: 1,
      workspaces: [name],
    })
    const client = await clientIn(setting, setting.target, name)
    await client.lock()

    await importStates({ from: { directory: setting.directory }, to: serverOf(setting, setting.target) })
    expect(await isLocked(name)).toBe(true)
    const own = rawState({ serial: 9 })
    await client.create(own)
    const { refused } = await importStates({
      from: { directory: setting.directory },
      to: serverOf(setting, setting.target),
    })

    expect(refused).toMatchObject([{ workspace: name, reason: expect.stringContaining('ahead') }])
    expect(await isLocked(name)).toBe(true)
  })

  test('of a killed import is released', async () => {
    const { name } = await workspaceWith(setting, HISTORY)
    await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })
    await importStates({ from: { directory: setting.directory }, to: serverOf(setting, setting.target) })
    const { id, request } = await clientIn(setting, setting.target, name)
    await request('POST', `/workspaces/${id}/actions/lock`, { reason: 'import of states' })

    await importStates({ from: { directory: setting.directory }, to: serverOf(setting, setting.target) })

    expect(await isLocked(name)).toBe(false)
  })
})

test('a missing file is named, with advice', async () => {
  const { name } = await workspaceWith(setting, HISTORY)
  await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })
  const file = (await readdir(join(setting.directory, name))).find((entry) => entry.startsWith('000004-')) ?? ''
  await rm(join(setting.directory, name, file))

  const refused = await importStates({
    from: { directory: setting.directory },
    to: serverOf(setting, setting.target),
  }).catch((error: Error) => error.message)

  expect(refused).toContain(`${join(setting.directory, name, file)} is missing`)
  expect(refused).toContain(`serial 4 of the workspace ${name}. Restore the file, or export`)
  expect(refused).not.toMatch(/ENOENT|\n/)
})

describe('an import from a directory', () => {
  const refusal = async (path: string) =>
    importStates({ from: { directory: path }, to: serverOf(setting, setting.target) }).catch(
      (error: Error) => error.message,
    )
  const workspaces = async () =>
    (
      await setting.app.request({ url: `/api/v2/organizations/${setting.target}/workspaces`, token: setting.ada.token })
    ).json().data

  test('without an export is rejected, and creates no workspaces', async () => {
    await mkdir(join(setting.directory, 'node_modules', 'zod'), { recursive: true })
    await mkdir(join(setting.directory, '.git'))
    const file = join(setting.directory, 'package.json')
    await writeFile(file, '{}')

    expect(await refusal(setting.directory)).toBe(
      `${setting.directory} has no exported states: no subdirectory has a history.jsonl`,
    )
    expect(await refusal(join(setting.directory, 'nowhere'))).toBe(
      `there is no directory ${join(setting.directory, 'nowhere')}`,
    )
    expect(await refusal(file)).toBe(`${file} is not a directory`)
    expect(await workspaces()).toEqual([])
  })

  test('ignores foreign files next to the states', async () => {
    const { name } = await workspaceWith(setting, HISTORY)
    await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })
    await mkdir(join(setting.directory, '.git'))
    await mkdir(join(setting.directory, 'notes'))

    const imported = await importStates({
      from: { directory: setting.directory },
      to: serverOf(setting, setting.target),
    })

    expect(imported).toMatchObject({ workspaces: 1, versions: 3 })
    expect(await workspaces()).toMatchObject([{ attributes: { name } }])
  })
})

test('a state that the server rejects is reported, rather than that its workspace cannot be unlocked', async () => {
  const { name } = await workspaceWith(setting, [rawState({ serial: 1 })])
  await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })
  const journal = join(setting.directory, name, 'history.jsonl')
  const [line = ''] = (await readFile(journal, 'utf8')).split('\n')
  const file = (await readdir(join(setting.directory, name))).find((entry) => entry.endsWith('.tfstate')) ?? ''
  await writeFile(join(setting.directory, name, file), 'no state')
  await writeFile(journal, `${JSON.stringify({ ...JSON.parse(line), md5: md5(Buffer.from('no state')) })}\n`)

  const imported = importStates({ from: { directory: setting.directory }, to: serverOf(setting, setting.target) })

  await expect(imported).rejects.toThrow('the state is not a JSON object')
})

test('an invalid line of the history is named', async () => {
  const { name } = await workspaceWith(setting, HISTORY)
  await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })
  const file = join(setting.directory, name, 'history.jsonl')
  const lines = (await readFile(file, 'utf8')).split('\n')
  const breakLine = async (line: string) => writeFile(file, lines.with(1, line).join('\n'))

  await breakLine('{"id":')
  await expect(
    importStates({ from: { directory: setting.directory }, to: serverOf(setting, setting.target) }),
  ).rejects.toThrow(`${file}, line 2: `)
  await breakLine('{"id":"sv-1"}')
  await expect(
    importStates({ from: { directory: setting.directory }, to: serverOf(setting, setting.target) }),
  ).rejects.toThrow(`${file}, line 2: `)
})

test('a directory has the states of one organization', async () => {
  await workspaceWith(setting, HISTORY)
  await exportStates({ from: serverOf(setting, setting.source), directory: setting.directory })

  const other = exportStates({ from: serverOf(setting, setting.target), directory: setting.directory })

  await expect(other).rejects.toThrow(
    `${setting.directory} has the states of ${setting.source} on ${setting.url}, not those of ${setting.target} on ${setting.url}`,
  )
})

test.each([
  ['/proc/groundstate/states', "can't make the directory"],
  ['/dev/null/states', 'is not a directory'],
])('an export into %s is rejected with one line', async (path, reason) => {
  await workspaceWith(setting, HISTORY)

  const refused = await exportStates({ from: serverOf(setting, setting.source), directory: path }).catch(
    (error: Error) => error.message,
  )

  expect(refused).toContain(reason)
  expect(refused).not.toContain('\n')
})
