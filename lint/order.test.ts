import { describe, expect, test } from 'vitest'
import { importProblem, kindOf, mayHoldSql } from './order.ts'

const feature = (path: string) => `server/src/features/${path}.ts`

describe('an import may point', () => {
  test.each([
    ['to a lower area', 'runs/runs/create', 'workspaces/workspaces/access'],
    ['to a lower kind of its own area', 'runs/runs/routes', 'runs/plans/store'],
    ['to its own kind of a lower area', 'runs/runs/create', 'organizations/teams/create'],
    ['to a file of its own feature', 'states/state-versions/create', 'states/state-versions/serial'],
  ])('%s', (_, from, to) => {
    expect(importProblem(feature(from), feature(to))).toBeUndefined()
  })

  test('to machinery', () => {
    expect(importProblem(feature('runs/runs/store'), 'server/src/db/db.ts')).toBeUndefined()
  })

  test('anywhere from a test, and from what starts a server', () => {
    const upwards = feature('runs/runs/create')

    expect(importProblem('server/src/features/identity/users/routes.test.ts', upwards)).toBeUndefined()
    expect(importProblem('server/src/auth/testing/things.ts', upwards)).toBeUndefined()
    expect(importProblem('server/src/serve.ts', 'server/src/features/list.ts')).toBeUndefined()
  })
})

describe('an import may not point', () => {
  test.each([
    ['to a higher area', feature('workspaces/workspaces/lock'), feature('runs/runs/advance'), /below runs/],
    ['to a higher kind', feature('runs/runs/store'), feature('runs/runs/access'), /"noun".*"access"/],
    ['from a verb to a door', feature('runs/runs/create'), feature('runs/plans/jobs'), /"verb".*"door"/],
    ['from machinery to a feature', 'server/src/http/http.ts', feature('runs/runs/access'), /machinery/],
    ['to the list of features', feature('runs/runs/create'), 'server/src/features/list.ts', /starts a server/],
    ['to what tests are made with', feature('runs/runs/create'), 'server/src/testing/app.ts', /tests only/],
    ['by a path into another package', 'agent/src/agent.ts', 'contract/src/agent.ts', /by their names/],
    ['from an area that nobody has put in order', feature('odd/things/store'), feature('runs/runs/store'), /odd/],
  ])('%s', (_, from, to, problem) => {
    expect(importProblem(from, to)).toMatch(problem)
  })
})

test.each([
  ['routes', 'door'],
  ['team-token-routes', 'door'],
  ['reactions', 'door'],
  ['includes', 'includes'],
  ['create', 'verb'],
  ['roll-back', 'verb'],
  ['access', 'access'],
  ['store', 'noun'],
  ['outcomes-store', 'noun'],
  ['list-store', 'noun'],
  ['status', 'noun'],
] as const)('%s is a %s', (name, kind) => {
  expect(kindOf(name)).toBe(kind)
})

test('SQL stands in stores, machinery and tests', () => {
  expect(mayHoldSql(feature('runs/runs/store'))).toBe(true)
  expect(mayHoldSql(feature('runs/runs/queue-store'))).toBe(true)
  expect(mayHoldSql('server/src/auth/facts.ts')).toBe(true)
  expect(mayHoldSql(feature('runs/runs/routes.test'))).toBe(true)
  expect(mayHoldSql(feature('runs/runs/create'))).toBe(false)
})
