import { describe, expect, test } from 'vitest'
import { LOCK, START_RUN, UNLOCK, workspaceActions } from './bulk-actions.ts'
import type { ListedWorkspace } from './workspaces.ts'

type Fields = {
  attributes?: object
  project?: object
  hasConfiguration?: boolean
  holder?: { id: string; type: string } | null
}

/** Fields of a workspace that the actions read. */
function workspace(name: string, { attributes = {}, project, hasConfiguration = true, holder = null }: Fields = {}) {
  return {
    id: `ws-${name}`,
    attributes: {
      name,
      locked: false,
      'execution-mode': 'remote',
      'has-configuration': hasConfiguration,
      permissions: { 'can-lock': true, 'can-unlock': true, 'can-queue-run': true, 'can-manage-tags': true },
      ...attributes,
    },
    relationships: { 'locked-by': { data: holder } },
    project,
  } as ListedWorkspace
}

describe('obstacles', () => {
  test('a workspace without a configuration can’t be planned', () => {
    expect(START_RUN.obstacle(workspace('a', { hasConfiguration: false }))).toContain('no configuration yet')
    expect(START_RUN.obstacle(workspace('a'))).toBeUndefined()
  })

  test('a workspace with local execution can’t be planned here', () => {
    expect(START_RUN.obstacle(workspace('a', { attributes: { 'execution-mode': 'local' } }))).toContain('in the CLI')
  })

  test('a locked workspace can’t be locked again, nor an unlocked one unlocked', () => {
    expect(LOCK.obstacle(workspace('a', { attributes: { locked: true } }))).toBe('already locked')
    expect(UNLOCK.obstacle(workspace('a'))).toBe('not locked')
  })

  test('moving a workspace requires permission in its project', () => {
    const move = workspaceActions('main').at(-1)
    const inProject = (mayMove: boolean) =>
      workspace('a', { project: { attributes: { name: 'network', permissions: { 'can-move-workspace': mayMove } } } })

    expect(move?.obstacle(inProject(false))).toBe('you can’t move workspaces out of network')
    expect(move?.obstacle(inProject(true))).toBeUndefined()
  })

  test('the lock of a run can’t be released', () => {
    const ofRun = workspace('a', { attributes: { locked: true }, holder: { id: 'run-1', type: 'runs' } })

    expect(UNLOCK.obstacle(ofRun)).toContain('active run')
  })
})
