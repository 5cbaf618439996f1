import type { Resource } from '@groundstate/contract/json-api'
import { describe, expect, test } from 'vitest'
import type { Ctx } from '../app.ts'
import { addIncluded, indexLoaders, type Loader } from './loaders.ts'

// Runs link to a plan, a creator and a workspace. Workspaces show their variables only when these are included.

const one = (type: string, id: string) => ({ data: { type, id } })
const run = (id: string, plan = `plan-${id}`): Resource => ({
  type: 'runs',
  id,
  relationships: {
    plan: one('plans', plan),
    'created-by': one('users', 'ada'),
    'confirmed-by': { data: null },
    workspace: one('workspaces', 'ws'),
    comments: { links: { related: `/runs/${id}/comments` } },
  },
})
const workspace = (id: string, current: string, lockedBy = one('users', 'ada')): Resource => ({
  type: 'workspaces',
  id,
  relationships: {
    'current-run': one('runs', current),
    'latest-run': one('runs', 'r2'),
    'locked-by': lockedBy,
    readme: one('readmes', 'none'),
    vars: { links: { related: `/${id}/vars` } },
  },
})

/** Loaders that record their calls; a resource called secret is unreadable. */
function fakes() {
  const loads: string[] = []
  const named = (type: string, make: (id: string) => Resource = (id) => ({ type, id })): Loader => ({
    type,
    load: async (_, ids) => {
      loads.push(`${type}: ${ids.join(',')}`)
      return ids
        .filter((id) => id !== 'secret')
        .map((id) => make(id))
        .toReversed()
    },
  })
  const loaders: Loader[] = [
    named('runs', run),
    named('plans'),
    named('users'),
    named('workspaces', (id) => workspace(id, 'r1')),
    {
      of: 'workspaces',
      relation: 'vars',
      load: async (_, parents) => {
        loads.push(`vars of ${parents.map(({ id }) => id).join(',')}`)
        const vars = (id: string) => ['a', 'b'].map((name) => ({ type: 'vars', id: `${id}-${name}` }))
        return new Map(parents.filter(({ id }) => id !== 'ws3').map(({ id }) => [id, vars(id)]))
      },
    },
    {
      of: 'plans',
      relation: 'export',
      load: async (_, parents) => new Map(parents.map(({ id }) => [id, { type: 'exports', id: `export-${id}` }])),
    },
  ]
  return { loads, loaders }
}

async function include(data: Resource | Resource[] | null, ...paths: string[]) {
  const { loads, loaders } = fakes()
  const response = { status: 200, document: { data, meta: {} } }
  const { document } = await addIncluded({} as Ctx, indexLoaders(loaders), response, new Set(paths))
  const { included } = document as { included?: Resource[] }
  return { loads, included: included?.map(({ type, id }) => `${type}/${id}`), document }
}

test('without include nothing is added', async () => {
  expect((await include(run('r1'))).document).toEqual({ data: run('r1'), meta: {} })
})

test('a relation includes its resources, loaded once for all rows', async () => {
  const { loads, included } = await include([run('r1'), run('r2'), run('r3', 'plan-r1')], 'plan')

  expect(included).toEqual(['plans/plan-r1', 'plans/plan-r2'])
  expect(loads).toEqual(['plans: plan-r1,plan-r2'])
})

test('resources along a path are included', async () => {
  const { loads, included } = await include(workspace('ws1', 'r1'), 'current_run.plan', 'current_run.created_by')

  expect(included).toEqual(['runs/r1', 'plans/plan-r1', 'users/ada'])
  expect(loads).toEqual(['runs: r1', 'plans: plan-r1', 'users: ada'])
})

test('each type is loaded once per depth, and no resource twice', async () => {
  const paths = [
    'current_run',
    'latest_run',
    'locked_by',
    'current_run.plan',
    'latest_run.plan',
    'latest_run.created_by',
  ]

  const { loads, included } = await include(
    [workspace('ws1', 'r1'), workspace('ws2', 'r3', one('runs', 'r3'))],
    ...paths,
  )

  expect(loads).toEqual(['runs: r1,r3,r2', 'users: ada', 'plans: plan-r1,plan-r3,plan-r2'])
  expect(included).toEqual([
    'runs/r1',
    'runs/r3',
    'runs/r2',
    'users/ada',
    'plans/plan-r1',
    'plans/plan-r3',
    'plans/plan-r2',
  ])
})

test('resources are ordered by path, then by position in the data', async () => {
  const { included } = await include([run('r2'), run('r1')], 'created_by', 'plan')

  expect(included).toEqual(['users/ada', 'plans/plan-r2', 'plans/plan-r1'])
})

describe('nothing is included by', () => {
  test.each([
    ['a relation to none', 'confirmed_by'],
    ['a relation without data', 'comments'],
    ['a relation that the resource does not have', 'cost_estimate'],
    ['a path through an empty relation', 'confirmed_by.organization'],
  ])('%s', async (_, path) => {
    const { loads, included } = await include(run('r1'), path)

    expect(included).toEqual([])
    expect(loads).toEqual([])
  })

  test('a type without a loader', async () => {
    expect((await include(workspace('ws1', 'r1'), 'readme')).included).toEqual([])
  })

  test('a document without data', async () => {
    expect((await include(null, 'plan')).included).toEqual([])
  })

  test('an unreadable resource, which is not loaded again', async () => {
    const { loads, included } = await include(
      workspace('ws1', 'secret', one('runs', 'secret')),
      'current_run',
      'locked_by',
    )

    expect(included).toEqual([])
    expect(loads).toEqual(['runs: secret'])
  })
})

describe('a relation that the resource does not contain', () => {
  test('is loaded for all parents at once, and shown with its links', async () => {
    const { loads, document, included } = await include([workspace('ws1', 'r1'), workspace('ws2', 'r1')], 'vars')

    expect(loads).toEqual(['vars of ws1,ws2'])
    expect(included).toEqual(['vars/ws1-a', 'vars/ws1-b', 'vars/ws2-a', 'vars/ws2-b'])
    expect(document).toMatchObject({
      data: [
        { relationships: { vars: { data: ['ws1-a', 'ws1-b'].map((id) => ({ type: 'vars', id })), links: {} } } },
        {},
      ],
    })
  })

  test('is unchanged if the loader omits the parent', async () => {
    const { document } = await include(workspace('ws3', 'r1'), 'vars')

    expect(document).toMatchObject({ data: workspace('ws3', 'r1') })
  })

  test('may be one resource, of a resource that is included itself', async () => {
    const { document, included } = await include(run('r1'), 'plan.export')

    expect(included).toEqual(['plans/plan-r1', 'exports/export-plan-r1'])
    expect(document).toMatchObject({
      included: [{ relationships: { export: one('exports', 'export-plan-r1') } }, {}],
    })
  })
})

test('primary resources are not included again', async () => {
  const { loads, included } = await include([workspace('ws', 'r1')], 'current_run.workspace')

  expect(included).toEqual(['runs/r1'])
  expect(loads).toEqual(['runs: r1'])
})

test('a document with included resources and other content are unchanged', async () => {
  const loaders = indexLoaders(fakes().loaders)
  const complete = { status: 200, document: { data: run('r1'), included: [] } }
  const bytes = { status: 200, content: { type: 'text/plain', data: 'x' } }

  for (const response of [complete, bytes]) {
    expect(await addIncluded({} as Ctx, loaders, response, new Set(['plan']))).toEqual(response)
  }
})

test('two loaders for the same type are rejected', () => {
  const { loaders } = fakes()

  expect(() => indexLoaders([...loaders, { type: 'plans', load: async () => [] }])).toThrow('two loaders for plans')
})
