import { describe, expect, test } from 'vitest'
import { destroyedAddresses, type PlanJson, planModel, type PlannedResource } from './plan-model.ts'

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
  ])('that says $actions is to $kind', ({ actions, kind }) => {
    expect(modelOf(resource('a.b', actions)).resources).toMatchObject([{ kind }])
  })

  test('leaves out what stays, but not what is moved or imported', () => {
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

  test('names a resource within its module, whose keys may have dots and quotes', () => {
    const module = 'module.m["x.y \\"z\\""]'

    const [change] = modelOf(resource(`${module}.a.b["k.l"]`, ['create'], { module_address: module })).resources

    expect(change).toMatchObject({ module, localAddress: 'a.b["k.l"]' })
  })

  test('tells why, and in which order a replacement goes', () => {
    const [first, second] = modelOf(
      resource('a.b', ['create', 'delete'], { action_reason: 'replace_because_tainted' }),
      resource('a.c', ['delete'], { action_reason: 'delete_because_count_index' }),
    ).resources

    expect(first?.notes).toEqual([
      'the new one is created before the old one is destroyed',
      'it is tainted: its creation did not come to its end',
    ])
    expect(second?.notes).toEqual(['its index is beyond count now'])
  })

  test('has a deposed object beside the resource that it belonged to', () => {
    const model = modelOf(resource('a.b', ['update']), resource('a.b', ['delete'], { deposed: '1a2b3c4d' }))

    expect(new Set(model.resources.map(({ key }) => key)).size).toBe(2)
    expect(model.resources[1]?.notes[0]).toContain('1a2b3c4d')
  })

  test('has drift, deferred changes and changed outputs apart', () => {
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
    expect(model.resources[0]?.notes[0]).toBe('deferred to a later run: how many there are is not known yet')
    expect(model.outputs.map(({ name, kind }) => [name, kind])).toEqual([
      ['gone', 'destroy'],
      ['secret', 'update'],
    ])
    expect(model.outputs[1]?.attributes().changed).toEqual([
      { path: 'secret', before: { kind: 'sensitive' }, after: { kind: 'sensitive' }, isChanged: true },
    ])
  })

  test('is searched by addresses and values', () => {
    const [change] = modelOf(
      resource('a.b', ['update'], { change: { actions: [], before: { ami: 'ami-Old' }, after: { ami: 'ami-new' } } }),
    ).resources

    expect(['a.b', 'ami-old', 'ami-new', 'other'].map((text) => change?.has(text))).toEqual([true, true, true, false])
  })

  test('names what it destroys, replacements too', () => {
    const model = modelOf(
      resource('a.b', ['delete']),
      resource('a.c', ['delete', 'create']),
      resource('a.d', ['create']),
    )

    expect(destroyedAddresses(model)).toEqual(['a.b', 'a.c'])
  })
})
