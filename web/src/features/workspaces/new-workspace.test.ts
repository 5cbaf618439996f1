import { describe, expect, test } from 'vitest'
import { nameProblem, newWorkspaceBody } from './new-workspace.ts'

const FORM = {
  name: 'kafka',
  description: '',
  projectId: undefined,
  mode: '',
  poolId: '',
  engineVersion: '',
  isAutoApply: false,
} as const

describe('a new workspace', () => {
  test('omits empty fields, so that defaults apply', () => {
    expect(newWorkspaceBody(FORM).data).toEqual({
      type: 'workspaces',
      attributes: { name: 'kafka', 'auto-apply': false },
      relationships: {},
    })
  })

  test('names the pool only in the execution mode agent', () => {
    const ofPool = newWorkspaceBody({ ...FORM, mode: 'agent', poolId: 'apool-1' }).data.attributes
    const remote = newWorkspaceBody({ ...FORM, mode: 'remote', poolId: 'apool-1' }).data.attributes

    expect(ofPool).toMatchObject({ 'execution-mode': 'agent', 'agent-pool-id': 'apool-1' })
    expect(remote).not.toHaveProperty('agent-pool-id')
  })

  test('has a name of letters, numbers, underscores and hyphens', () => {
    expect(nameProblem('kafka_prod-2')).toBeUndefined()
    expect(nameProblem('kafka prod')).toContain('letters, numbers')
    expect(nameProblem('a'.repeat(91))).toContain('too long')
  })
})
