import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { rawState } from '../testing/state-versions.ts'
import { importStates } from './state-transfer.ts'
import { clientIn, contents, HISTORY, serverOf, useTransferSetting, workspaceWith } from './testing/transfer-setting.ts'

const setting = useTransferSetting()

describe('without a checkpoint', () => {
  const again = async (options: Partial<Parameters<typeof importStates>[0]> = {}) =>
    importStates({
      from: serverOf(setting, setting.source),
      to: {
        ...serverOf(setting, setting.target),
        checkpointFile: join(setting.directory, `progress-${Math.random()}`),
      },
      ...options,
    })
  /** Adds a state to the workspace that the history was imported to. */
  const addTo = async (name: string, raw: Buffer, attributes: object = {}) => {
    const client = await clientIn(setting, setting.target, name)
    await client.lock()
    await client.create(raw, { ...attributes })
    await client.unlock()
  }

  test('existing versions are not written again', async () => {
    const { name } = await workspaceWith(setting, HISTORY)
    await again()

    const result = await again()

    expect(result).toMatchObject({ versions: 3, skipped: 3, bytes: 0, refused: [] })
    expect(await contents(setting, setting.target, name)).toEqual(HISTORY.map(String))
  })

  test('later versions of the source are added', async () => {
    const workspace = await workspaceWith(setting, HISTORY)
    await again()
    await workspace.lock()
    await workspace.create(rawState({ serial: 6 }))
    await workspace.unlock()

    const result = await again()

    expect(result).toMatchObject({ versions: 4, skipped: 3, refused: [] })
    expect(await contents(setting, setting.target, workspace.name)).toHaveLength(4)
  })

  test('older states are not added after newer ones', async () => {
    const { name } = await workspaceWith(setting, HISTORY)
    await again({ latest: 1 })

    const result = await again()

    expect(result).toMatchObject({ versions: 3, skipped: 1, leftOut: 2, refused: [] })
    expect(await contents(setting, setting.target, name)).toEqual([String(HISTORY[2])])
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
  ])('a workspace that is %s is skipped, and the others are not', async (_, own, attributes, reason) => {
    const { name } = await workspaceWith(setting, HISTORY)
    await again()
    await addTo(name, own, attributes)
    const { name: other } = await workspaceWith(setting, HISTORY)

    const result = await again()

    expect(result.refused).toEqual([{ workspace: name, reason: expect.stringMatching(reason) }])
    expect((await contents(setting, setting.target, name)).at(-1)).toBe(String(own))
    expect(await contents(setting, setting.target, other)).toEqual(HISTORY.map(String))
    const left = await setting.app.request({
      url: `/api/v2/organizations/${setting.target}/workspaces/${name}`,
      token: setting.ada.token,
    })
    expect(left.json().data.attributes.locked).toBe(false)
  })

  test('with replace, the states are added to the existing ones', async () => {
    const { name } = await workspaceWith(setting, HISTORY)
    await again()
    await addTo(name, rawState({ serial: 9, lineage: 'other' }), { force: true })

    const result = await again({ replace: true })

    expect(result.refused).toEqual([])
    expect((await contents(setting, setting.target, name)).at(-1)).toBe(String(HISTORY[2]))
  })
})

test('a workspace with newer states is skipped despite a checkpoint', async () => {
  const workspace = await workspaceWith(setting, HISTORY)
  const importThem = async () =>
    importStates({
      from: serverOf(setting, setting.source),
      to: { ...serverOf(setting, setting.target), checkpointFile: join(setting.directory, 'progress') },
    })
  await importThem()
  const client = await clientIn(setting, setting.target, workspace.name)
  await client.lock()
  await client.create(rawState({ serial: 6, outputs: { mine: 'x' } }))
  await client.unlock()
  await workspace.lock()
  await workspace.create(rawState({ serial: 6, outputs: { theirs: 'x' } }))
  await workspace.unlock()

  const { refused } = await importThem()

  expect(refused).toMatchObject([{ workspace: workspace.name }])
  expect(await contents(setting, setting.target, workspace.name)).toHaveLength(4)
})
