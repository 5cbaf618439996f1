import { describe, expect, test } from 'vitest'
import { importProblem, kindOf, mayHoldSql } from './order.ts'

const feature = (path: string) => `server/src/features/${path}.ts`

describe('an import may point', () => {
  test.each([
    ['to a lower area', feature('runs/runs/service'), feature('workspaces/workspaces/access')],
    ['to a lower noun of its area', feature('runs/plans/service'), feature('runs/runs/access')],
    ['to a lower kind of file', feature('runs/runs/routes'), feature('runs/runs/store')],
    ['to the same kind of file in a lower area', feature('runs/runs/service'), feature('organizations/teams/service')],
    ['to a file of the same feature', feature('runs/runs/service'), feature('runs/runs/machine')],
    ['to machinery', feature('runs/runs/store'), 'server/src/db/db.ts'],
    ['to lower machinery', 'server/src/http/http.ts', 'server/src/db/db.ts'],
    ['anywhere from a test', feature('identity/users/routes.test'), feature('runs/runs/service')],
    ['anywhere from test fixtures', 'server/src/auth/testing/things.ts', feature('runs/runs/service')],
    ['to the list of features from what starts a server', 'server/src/serve.ts', 'server/src/features/list.ts'],
  ])('%s', (_, from, to) => {
    expect(importProblem(from, to)).toBeUndefined()
  })
})

describe('an import must not point', () => {
  test.each([
    ['to a higher area', feature('workspaces/workspaces/lock'), feature('runs/runs/advance'), /below runs\/runs/],
    ['to a higher noun of its area', feature('runs/runs/access'), feature('runs/plans/access'), /below runs\/plans/],
    ['from a store to access', feature('runs/runs/store'), feature('runs/runs/access'), /"store".*"access"/],
    [
      'from a service to an entry point',
      feature('runs/plans/service'),
      feature('runs/runs/jobs'),
      /"service".*"entry"/,
    ],
    ['from an operation to an entry point', feature('runs/runs/advance'), feature('runs/runs/routes'), /"entry"/],
    ['from machinery to a feature', 'server/src/http/http.ts', feature('runs/runs/access'), /machinery/],
    ['to higher machinery', 'server/src/db/db.ts', 'server/src/http/http.ts', /db is below http/],
    ['to the list of features', feature('runs/runs/service'), 'server/src/features/list.ts', /starts a server/],
    ['to test fixtures', feature('runs/runs/service'), 'server/src/testing/app.ts', /only tests/],
    ['by path into another package', 'agent/src/agent/agent.ts', 'contract/src/agent.ts', /by name/],
    [
      'from a noun without a place',
      feature('runs/things/store'),
      feature('runs/runs/store'),
      /runs\/things has no place/,
    ],
  ])('%s', (_, from, to, problem) => {
    expect(importProblem(from, to)).toMatch(problem)
  })
})

test.each([
  ['routes', 'entry'],
  ['two-factor-routes', 'entry'],
  ['jobs', 'entry'],
  ['includes', 'includes'],
  ['service', 'service'],
  ['access', 'access'],
  ['store', 'store'],
  ['list-store', 'store'],
  ['machine', undefined],
] as const)('the kind of %s is %s', (name, kind) => {
  expect(kindOf(name)).toBe(kind)
})

test('SQL is allowed in stores, machinery and tests', () => {
  expect(mayHoldSql(feature('runs/runs/store'))).toBe(true)
  expect(mayHoldSql(feature('runs/runs/queue-store'))).toBe(true)
  expect(mayHoldSql('server/src/auth/access-sql.ts')).toBe(true)
  expect(mayHoldSql(feature('runs/runs/routes.test'))).toBe(true)
  expect(mayHoldSql(feature('runs/runs/service'))).toBe(false)
})
