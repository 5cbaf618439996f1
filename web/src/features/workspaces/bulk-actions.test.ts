import { describe, expect, test } from 'vitest'
import { actOnEach, BULK_ACTIONS, type Outcome } from './bulk-actions.ts'
import type { ListedWorkspace } from './workspaces.ts'

type Fields = {
  attributes?: object
  project?: object
  configuration?: string | null
  holder?: { id: string; type: string } | null
}

/** Fields of a workspace that the actions read. */
function workspace(name: string, { attributes = {}, project, configuration = 'cv-1', holder = null }: Fields = {}) {
  return {
    id: `ws-${name}`,
    attributes: {
      name,
      locked: false,
      'execution-mode': 'remote',
      permissions: { 'can-lock': true, 'can-unlock': true, 'can-queue-run': true, 'can-manage-tags': true },
      ...attributes,
    },
    relationships: {
      'locked-by': { data: holder },
      'current-configuration-version': {
        data: configuration === null ? null : { id: configuration, type: 'configuration-versions' },
      },
    },
    project,
  } as ListedWorkspace
}

const NOT_ABORTED = new AbortController().signal

describe('acting on several workspaces', () => {
  test('after an abort, requests in progress finish and no others start', async () => {
    const outcomes: Outcome[] = []
    const stop = new AbortController()

    await actOnEach(
      { obstacle: () => undefined, act: async () => stop.abort() },
      { workspaces: Array.from({ length: 20 }, (_, n) => workspace(String(n))), value: '', signal: stop.signal },
      (outcome) => outcomes.push(outcome),
    )

    expect(outcomes.map(({ name }) => name)).toEqual(['0'])
  })

  test('a failure is reported and does not affect the others', async () => {
    const outcomes: Outcome[] = []
    const act = async ({ attributes }: ListedWorkspace) => {
      if (attributes.name === 'b') throw new Error('it is locked by ada')
    }

    await actOnEach(
      { obstacle: () => undefined, act },
      { workspaces: ['a', 'b', 'c'].map((name) => workspace(name)), value: '', signal: NOT_ABORTED },
      (outcome) => outcomes.push(outcome),
    )

    expect(outcomes).toHaveLength(3)
    expect(outcomes.filter(({ failure }) => failure !== undefined)).toEqual([
      { id: 'ws-b', name: 'b', failure: 'it is locked by ada' },
    ])
  })

  test('nothing is sent for a workspace with a known obstacle', async () => {
    const acted: string[] = []
    const outcomes: Outcome[] = []

    await actOnEach(
      { obstacle: () => 'it is already locked', act: async ({ id }) => acted.push(id) },
      { workspaces: [workspace('a')], value: '', signal: NOT_ABORTED },
      (outcome) => outcomes.push(outcome),
    )

    expect(acted).toEqual([])
    expect(outcomes).toEqual([{ id: 'ws-a', name: 'a', failure: 'it is already locked' }])
  })

  test('at most four requests run concurrently', async () => {
    let underWay = 0
    let most = 0
    const act = async () => {
      underWay += 1
      most = Math.max(most, underWay)
      await Promise.resolve()
      underWay -= 1
    }

    await actOnEach(
      { obstacle: () => undefined, act },
      { workspaces: Array.from({ length: 20 }, (_, n) => workspace(String(n))), value: '', signal: NOT_ABORTED },
      () => {},
    )

    expect(most).toBe(4)
  })
})

describe('obstacles', () => {
  test('a workspace without a configuration can’t be planned', () => {
    expect(BULK_ACTIONS.plan.obstacle(workspace('a', { configuration: null }))).toContain('no configuration yet')
    expect(BULK_ACTIONS.plan.obstacle(workspace('a'))).toBeUndefined()
  })

  test('a workspace with local execution can’t be planned here', () => {
    expect(BULK_ACTIONS.plan.obstacle(workspace('a', { attributes: { 'execution-mode': 'local' } }))).toContain(
      'in the CLI',
    )
  })

  test('a locked workspace can’t be locked again, nor an unlocked one unlocked', () => {
    expect(BULK_ACTIONS.lock.obstacle(workspace('a', { attributes: { locked: true } }))).toBe('it is already locked')
    expect(BULK_ACTIONS.unlock.obstacle(workspace('a'))).toBe('it is not locked')
  })

  test('moving a workspace requires permission in its project', () => {
    const inProject = (mayMove: boolean) =>
      workspace('a', { project: { attributes: { name: 'network', permissions: { 'can-move-workspace': mayMove } } } })

    expect(BULK_ACTIONS.move.obstacle(inProject(false))).toBe('you can’t move workspaces out of network')
    expect(BULK_ACTIONS.move.obstacle(inProject(true))).toBeUndefined()
  })

  test('the lock of a run can’t be released', () => {
    const ofRun = workspace('a', { attributes: { locked: true }, holder: { id: 'run-1', type: 'runs' } })

    expect(BULK_ACTIONS.unlock.obstacle(ofRun)).toContain('active run')
  })
})
