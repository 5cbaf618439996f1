import { expect, test } from 'vitest'
import type { VariableSource } from '../variables/resource.ts'
import { effectiveVariables } from './effective-variables.ts'

const set = (name: string, scope: 'workspace' | 'project' | 'global', priority = false): VariableSource => ({
  kind: 'set',
  name,
  scope,
  priority,
})

/** From the highest to the lowest precedence. */
const ORDER: readonly VariableSource[] = [
  set('a', 'global', true),
  set('a', 'project', true),
  set('a', 'workspace', true),
  set('b', 'workspace', true),
  { kind: 'run' },
  { kind: 'workspace' },
  set('a', 'workspace'),
  set('b', 'workspace'),
  set('a', 'project'),
  set('a', 'global'),
  set('b', 'global'),
]

test.each(ORDER.map((_, index) => index))('source %i takes precedence over all later ones', (index) => {
  const variables = ORDER.slice(index).map((source) => ({ key: 'k', category: 'env', source }))

  const chosen = effectiveVariables(variables.toReversed())

  expect(chosen.map((variable) => variable.source)).toEqual([ORDER[index]])
})

test('categories do not shadow each other', () => {
  const source = { kind: 'workspace' } as const

  const chosen = effectiveVariables([
    { key: 'k', category: 'env', source },
    { key: 'k', category: 'terraform', source },
  ])

  expect(chosen).toHaveLength(2)
})
