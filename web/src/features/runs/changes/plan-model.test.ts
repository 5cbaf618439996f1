import { parseExact } from '@groundstate/contract/exact-json'
import { describe, expect, test } from 'vitest'
import { type PlanJson, type PlannedResource, destroyedAddresses, planModel } from './plan-model.ts'
import manyKinds from './testdata/many-kinds.json?raw'

function resource(address: string, actions: readonly string[], fields: Partial<PlannedResource> = {}): PlannedResource {
  const { change, ...rest } = fields
  return { address, ...rest, change: { actions, before: {}, after: {}, ...change, ...(change && { actions }) } }
}
function modelOf(...resources: PlannedResource[]) {
  return planModel({ resource_changes: resources })
}

describe('a plan', () => {
  test.each([
    { actions: ['create'], kind: 'create' },
    { actions: ['update'], kind: 'update' },
    { actions: ['delete', 'create'], kind: 'replace' },
    { actions: ['create', 'delete'], kind: 'replace' },
    { actions: ['delete'], kind: 'destroy' },
    { actions: ['read'], kind: 'read' },
    { actions: ['forget'], kind: 'forget' },
    { actions: ['create', 'forget'], kind: 'create' },
  ])('with the actions $actions has the kind $kind', ({ actions, kind }) => {
    expect(modelOf(resource('a.b', actions)).resources).toMatchObject([{ kind }])
  })

  test('omits unchanged resources unless they are moved or imported', () => {
    const model = modelOf(
      resource('a.same', ['no-op']),
      resource('a.moved', ['no-op'], { previous_address: 'a.old' }),
      resource('a.imported', ['no-op'], { change: { actions: [], importing: { id: 'i-1' } } }),
    )

    expect(model.resources.map(({ address, notes }) => [address, ...notes])).toEqual([
      ['a.moved', 'moved from a.old'],
      ['a.imported', 'imported from i-1'],
    ])
  })

  test('has addresses relative to modules, whose keys may contain dots and quotes', () => {
    const module = 'module.m["x.y \\"z\\""]'

    const [change] = modelOf(resource(`${module}.a.b["k.l"]`, ['create'], { module_address: module })).resources

    expect(change).toMatchObject({ module, localAddress: 'a.b["k.l"]' })
  })

  test('has the reasons of changes and the order of a replacement', () => {
    const [first, second] = modelOf(
      resource('a.b', ['create', 'delete'], { action_reason: 'replace_because_tainted' }),
      resource('a.c', ['delete'], { action_reason: 'delete_because_count_index' }),
    ).resources

    expect(first?.notes).toEqual([
      'the replacement is created before the old object is destroyed',
      'tainted: its creation failed',
    ])
    expect(second?.notes).toEqual(['its index is out of range for count'])
  })

  test('lists a deposed object separately from its resource', () => {
    const model = modelOf(resource('a.b', ['update']), resource('a.b', ['delete'], { deposed: '1a2b3c4d' }))

    expect(new Set(model.resources.map(({ key }) => key)).size).toBe(2)
    expect(model.resources[1]?.notes[0]).toContain('1a2b3c4d')
  })

  test('has separate drift, deferred changes and outputs', () => {
    const plan: PlanJson = {
      resource_changes: [resource('a.b', ['no-op'])],
      resource_drift: [resource('a.b', ['update'])],
      deferred_changes: [{ reason: 'instance_count_unknown', resource_change: resource('a.c[*]', ['create']) }],
      output_changes: {
        same: { actions: ['no-op'], before: 1, after: 1 },
        gone: { actions: ['delete'], before: 'x', after: null },
        secret: {
          actions: ['update'],
          before: '(sensitive value)',
          after: '(changed sensitive value)',
          after_sensitive: true,
        },
      },
    }

    const model = planModel(plan)

    expect(model.drift).toMatchObject([{ address: 'a.b', kind: 'update', isDrift: true }])
    expect(model.resources).toMatchObject([{ address: 'a.c[*]', isDeferred: true }])
    expect(model.resources[0]?.notes[0]).toBe('deferred to a later run: instance count unknown')
    expect(model.outputs.map(({ name, kind }) => [name, kind])).toEqual([
      ['gone', 'destroy'],
      ['secret', 'update'],
    ])
    expect(model.outputs[1]?.attributes().changed).toEqual([
      { path: 'secret', before: { kind: 'sensitive' }, after: { kind: 'sensitive' }, isChanged: true },
    ])
  })

  test('is searchable by address and value', () => {
    const [change] = modelOf(
      resource('a.b', ['update'], { change: { actions: [], before: { ami: 'ami-Old' }, after: { ami: 'ami-new' } } }),
    ).resources

    expect(['a.b', 'ami-old', 'ami-new', 'other'].map((text) => change?.has(text))).toEqual([true, true, true, false])
  })

  test('has the addresses that it destroys or replaces', () => {
    const model = modelOf(
      resource('a.b', ['delete']),
      resource('a.c', ['delete', 'create']),
      resource('a.d', ['create']),
    )

    expect(destroyedAddresses(model)).toEqual(['a.b', 'a.c'])
  })
})

/** A real plan with updates, a move, an import, a create-before-destroy, a deferred read and unusual keys. */
const model = planModel(parseExact(manyKinds) as PlanJson)

function changeOf(address: string) {
  const change = model.resources.find((own) => own.address === address)
  if (!change) throw new Error(`${address} is not in the plan`)
  return change
}
function changed(address: string) {
  return changeOf(address)
    .attributes()
    .changed.map(({ path, before, after }) => [path, textOf(before), textOf(after)])
}
function textOf(side: { kind: string; text?: string }) {
  return side.text ?? side.kind
}

test('each resource of a real plan has its kind and notes', () => {
  const notes = model.resources.map(({ address, kind, notes }) => [address, kind, ...notes])

  expect(notes).toEqual([
    ['data.terraform_remote_state.later', 'read', 'its configuration is known after apply'],
    ['terraform_data.big', 'update'],
    [
      'terraform_data.first',
      'replace',
      'the replacement is created before the old object is destroyed',
      'an attribute can’t be updated in place',
    ],
    ['terraform_data.leaves', 'forget', 'removed from the state but not destroyed', 'not in the configuration'],
    ['terraform_data.new_name', 'none', 'moved from terraform_data.old_name'],
    ['terraform_data.taken', 'update', 'imported from an-id'],
    ['module.one["x y"].terraform_data.inner["a.b \\"q\\""]', 'update'],
    ['module.one["x y"].terraform_data.inner["plain"]', 'update'],
  ])
  expect(destroyedAddresses(model)).toEqual(['terraform_data.first'])
})

test('a module with an unusual key has relative addresses', () => {
  expect(model.resources.slice(-2).map(({ module, localAddress }) => [module, localAddress])).toEqual([
    ['module.one["x y"]', 'terraform_data.inner["a.b \\"q\\""]'],
    ['module.one["x y"]', 'terraform_data.inner["plain"]'],
  ])
})

test('the attributes of a real plan have large numbers, line diffs and masked values', () => {
  expect(changed('terraform_data.big').slice(0, 2)).toEqual([
    ['input.n', '9007199254740993', '9007199254740995'],
    ['input.t', 'a\nb\nc', 'a\nB\nc'],
  ])
  expect(changed('module.one["x y"].terraform_data.inner["plain"]').slice(0, 2)).toEqual([
    ['input.n', '1', '2'],
    ['input.secret', 'sensitive', 'sensitive'],
  ])
})

test('the outputs of a real plan include a removed one', () => {
  expect(model.outputs.map(({ name, kind }) => [name, kind])).toEqual([
    ['gone', 'destroy'],
    ['n', 'update'],
  ])
})
