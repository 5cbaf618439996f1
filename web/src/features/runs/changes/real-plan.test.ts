import { parseExact } from '@groundstate/contract/exact-json'
import { expect, test } from 'vitest'
import { destroyedAddresses, type PlanJson, planModel } from './plan-model.ts'
import manyKinds from './testdata/many-kinds.json?raw'

/**
 * The redacted JSON of a real plan: resources that change, move, leave the state, are taken into it, are replaced by one
 * that is created before, are read later, and stand in a module with odd keys.
 */
const model = planModel(parseExact(manyKinds) as PlanJson)

function resource(address: string) {
  const found = model.resources.find((change) => change.address === address)
  if (!found) throw new Error(`${address} is not in the plan`)
  return found
}
function changed(address: string) {
  return resource(address)
    .attributes()
    .changed.map(({ path, before, after }) => [path, textOf(before), textOf(after)])
}
function textOf(side: { kind: string; text?: string }) {
  return side.text ?? side.kind
}

test('each resource of a real plan has its kind and what is to be said about it', () => {
  const said = model.resources.map(({ address, kind, notes }) => [address, kind, ...notes])

  expect(said).toEqual([
    ['data.terraform_remote_state.later', 'read', 'its configuration is known after the apply only'],
    ['terraform_data.big', 'update'],
    [
      'terraform_data.first',
      'replace',
      'the new one is created before the old one is destroyed',
      'an attribute changes that can not be changed in place',
    ],
    [
      'terraform_data.leaves',
      'forget',
      'leaves the state; the real thing stays',
      'it is not in the configuration any more',
    ],
    ['terraform_data.new_name', 'none', 'moved from terraform_data.old_name'],
    ['terraform_data.taken', 'update', 'imported from an-id'],
    ['module.one["x y"].terraform_data.inner["a.b \\"q\\""]', 'update'],
    ['module.one["x y"].terraform_data.inner["plain"]', 'update'],
  ])
  expect(destroyedAddresses(model)).toEqual(['terraform_data.first'])
})

test('a module with an odd key groups its resources by their addresses within it', () => {
  expect(model.resources.slice(-2).map(({ module, localAddress }) => [module, localAddress])).toEqual([
    ['module.one["x y"]', 'terraform_data.inner["a.b \\"q\\""]'],
    ['module.one["x y"]', 'terraform_data.inner["plain"]'],
  ])
})

test('the attributes of a real plan keep long numbers, compare lines, and mask what is sensitive', () => {
  expect(changed('terraform_data.big').slice(0, 2)).toEqual([
    ['input.n', '9007199254740993', '9007199254740995'],
    ['input.t', 'a\nb\nc', 'a\nB\nc'],
  ])
  expect(changed('module.one["x y"].terraform_data.inner["plain"]').slice(0, 2)).toEqual([
    ['input.n', '1', '2'],
    ['input.secret', 'sensitive', 'sensitive'],
  ])
})

test('outputs that change are there, those that go too', () => {
  expect(model.outputs.map(({ name, kind }) => [name, kind])).toEqual([
    ['gone', 'destroy'],
    ['n', 'update'],
  ])
})
