import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { extractJsonState, extractState, outputsFromJson } from './extraction.ts'

const testdata = (name: string): any =>
  JSON.parse(readFileSync(new URL(`./testdata/${name}.json`, import.meta.url), 'utf8'))
const BUILTIN = 'provider["terraform.io/builtin/terraform"]'

describe('extractState of format 4', () => {
  test('modules and providers count instances by hyphenated type', () => {
    const { modules, providers } = extractState(testdata('state-1'))

    expect(modules).toEqual({
      root: { 'terraform-data': 7 },
      'module.net["a"]': { 'terraform-data': 1 },
      'module.net["a"].module.deep': { 'data.terraform-remote-state': 1 },
    })
    expect(providers).toEqual({ [BUILTIN]: { 'terraform-data': 8, 'data.terraform-remote-state': 1 } })
  })

  test('resources have their count, module and provider, and a type with underscores', () => {
    const { resources } = extractState(testdata('state-1'))

    expect(resources).toContainEqual({
      name: 'counted',
      type: 'terraform_data',
      count: 2,
      module: 'root',
      provider: BUILTIN,
    })
    expect(resources).toContainEqual({
      name: 'other',
      type: 'data.terraform_remote_state',
      count: 1,
      module: 'module.net["a"].module.deep',
      provider: BUILTIN,
    })
  })

  test('instances have the addresses of the engine', () => {
    const { instances } = extractState(testdata('state-1'))

    const listed: string[] = []
    const collect = (module: any) => {
      listed.push(...(module.resources ?? []).map((resource: any) => resource.address))
      for (const child of module.child_modules ?? []) collect(child)
    }
    collect(testdata('show-1').values.root_module)
    expect(instances.map(({ address }) => address).toSorted()).toEqual(listed.toSorted())
    expect(instances).toContainEqual({
      address: 'terraform_data.each["t\\"wo"]',
      name: 'each',
      type: 'terraform_data',
      module: 'root',
      provider: 'terraform.io/builtin/terraform',
      nameIndex: 't"wo',
      tainted: false,
    })
  })

  test('tainted instances are reported, and counted for their resource', () => {
    const state = testdata('state-1')
    const { instances } = state.resources.find(({ name }: any) => name === 'counted')
    instances[1].status = 'tainted'

    const extraction = extractState(state)

    expect(extraction.instances.filter(({ tainted }) => tainted).map(({ address }) => address)).toEqual([
      'terraform_data.counted[1]',
    ])
    expect(extraction.resources.filter(({ tainted }) => tainted !== undefined)).toMatchObject([
      { name: 'counted', count: 2, tainted: 1 },
    ])
  })

  test('outputs have the types of the API and of the engine', () => {
    const { outputs } = extractState(testdata('state-1'))

    const types = Object.fromEntries(outputs.map(({ name, type, detailedType }) => [name, [type, detailedType]]))
    expect(types).toEqual({
      id: ['string', 'string'],
      secret: ['string', 'string'],
      tuple: ['array', ['tuple', ['string', 'string']]],
      list: ['array', ['list', 'string']],
      object: ['object', ['object', { a: 'number', b: 'string' }]],
      flag: ['boolean', 'bool'],
      number: ['number', 'number'],
    })
    expect(outputs.find(({ name }) => name === 'secret')).toMatchObject({
      sensitive: true,
      json: '"first-secret-value"',
    })
  })

  test('the header is returned', () => {
    const state = testdata('state-1')

    const { engineVersion, stateVersion, serial, lineage } = extractState(state)

    expect({ engineVersion, stateVersion, serial, lineage }).toEqual({
      engineVersion: '1.11.4',
      stateVersion: 4,
      serial: state.serial,
      lineage: state.lineage,
    })
  })

  test('deposed objects, data, null_resource and terraform_data are not billed', () => {
    const instances = [{ attributes: {} }, { deposed: 'abcdef01', attributes: {} }]
    const resource = (mode: string, type: string) => ({ mode, type, name: 'x', provider: 'provider["p"]', instances })
    const resources = [
      resource('managed', 'aws_vpc'),
      resource('managed', 'null_resource'),
      resource('managed', 'terraform_data'),
      resource('data', 'aws_ami'),
      { ...resource('managed', 'aws_subnet'), instances: instances.slice(1) },
    ]

    const extraction = extractState({ version: 4, resources })

    expect(extraction.billableCount).toBe(1)
    expect(extraction.modules).toEqual({
      root: { 'aws-vpc': 1, 'null-resource': 1, 'terraform-data': 1, 'data.aws-ami': 1 },
    })
  })

  test('names that are special in JavaScript are ordinary', () => {
    const resources = [
      { mode: 'managed', type: '__proto__', name: 'constructor', provider: '__proto__', instances: [{}] },
    ]

    const { modules, providers } = extractState(JSON.parse(JSON.stringify({ version: 4, resources })))

    expect(JSON.stringify({ modules, providers })).toBe(
      '{"modules":{"root":{"--proto--":1}},"providers":{"__proto__":{"--proto--":1}}}',
    )
  })

  test.each([
    [[], 'the state is not a JSON object'],
    [{}, 'the state has format version none, but only 3 and 4 can be read'],
    [{ version: 5 }, 'the state has format version 5, but only 3 and 4 can be read'],
    [{ version: 4, resources: {} }, "the state's resources is not a list of objects"],
    [
      { version: 4, resources: [{ mode: 'ephemeral', type: 'a' }] },
      'the state has a resource of mode "ephemeral", type "a"',
    ],
    [{ version: 4, outputs: { a: 1 } }, 'the output "a" is not an object'],
    [
      { version: 4, outputs: { a: { type: 'text' } } },
      'the output "a" has type "text", which is not a type of the engine',
    ],
  ])('%j is rejected: %s', (state, detail) => {
    expect(() => extractState(state)).toThrow(expect.objectContaining({ kind: 'invalid', message: detail }))
  })
})

test('format 3 is read with its flat resource keys', () => {
  const primary = { id: 'i', attributes: { id: 'i', 'tags.%': '1' } }
  const state = {
    version: 3,
    terraform_version: '0.11.14',
    serial: 2,
    lineage: 'old',
    modules: [
      {
        path: ['root'],
        outputs: {
          names: { sensitive: false, type: 'list', value: ['a', 'b'] },
          all: { sensitive: true, type: 'map', value: { k: 'v' } },
        },
        resources: {
          'aws_instance.web.0': { type: 'aws_instance', primary, provider: 'provider.aws' },
          'aws_instance.web.1': { type: 'aws_instance', primary, provider: 'provider.aws', deposed: [primary] },
          'aws_instance.replaced': { type: 'aws_instance', primary: null, deposed: [primary] },
          'data.aws_ami.ubuntu': { type: 'aws_ami', primary, provider: 'provider.aws.west' },
        },
      },
      {
        path: ['root', 'net', 'deep'],
        outputs: { inner: { value: 'x' } },
        resources: { 'aws_vpc.main': { primary, provider: 'module.net.provider.aws' } },
      },
    ],
  }

  const extraction = extractState(state)

  expect(extraction).toMatchObject({
    engineVersion: '0.11.14',
    stateVersion: 3,
    serial: 2,
    lineage: 'old',
    billableCount: 3,
  })
  expect(extraction.modules).toEqual({
    root: { 'aws-instance': 2, 'data.aws-ami': 1 },
    'module.net.module.deep': { 'aws-vpc': 1 },
  })
  expect(extraction.instances.map(({ address, provider }) => [address, provider])).toEqual([
    ['aws_instance.web[0]', 'aws'],
    ['aws_instance.web[1]', 'aws'],
    ['data.aws_ami.ubuntu', 'aws'],
    ['module.net.module.deep.aws_vpc.main', 'aws'],
  ])
  expect(extraction.outputs.map(({ name, type, detailedType }) => [name, type, detailedType])).toEqual([
    ['names', 'array', ['tuple', ['string', 'string']]],
    ['all', 'object', ['object', { k: 'string' }]],
  ])
})

test('a JSON state yields the same as the raw state, except for fields that it lacks', () => {
  const fromRaw = extractState(testdata('state-2'))

  const fromJson = extractJsonState(testdata('show-2'))

  const comparable = (extraction: typeof fromRaw) => ({
    ...extraction,
    serial: null,
    lineage: null,
    stateVersion: null,
    resources: extraction.resources.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
    instances: extraction.instances.toSorted((a, b) => a.address.localeCompare(b.address)),
  })
  expect(comparable(fromJson)).toEqual(comparable(fromRaw))
  expect(fromJson).toMatchObject({ serial: null, lineage: null, stateVersion: null })
})

test('a JSON state without values is empty', () => {
  expect(extractJsonState({ format_version: '1.0' })).toMatchObject({ instances: [], outputs: [], billableCount: 0 })
})

test('a document without a format version is not a JSON state', () => {
  expect(() => extractJsonState({ version: 4 })).toThrow(/has no format_version/)
})

describe('outputsFromJson', () => {
  test('types are kept, and inferred if missing', () => {
    const outputs = outputsFromJson({
      given: { sensitive: true, type: ['set', 'string'], value: ['a'] },
      missing: { value: { a: [1, true, null] } },
      nothing: { sensitive: false },
    })

    expect(outputs).toEqual([
      { name: 'given', sensitive: true, json: '["a"]', type: 'array', detailedType: ['set', 'string'] },
      {
        name: 'missing',
        sensitive: false,
        json: '{"a":[1,true,null]}',
        type: 'object',
        detailedType: ['object', { a: ['tuple', ['number', 'bool', 'dynamic']] }],
      },
      { name: 'nothing', sensitive: false, json: 'null', type: 'dynamic', detailedType: 'dynamic' },
    ])
  })

  test.each([[[]], ['text'], [null], [{ a: 'x' }], [{ a: { type: ['list'] } }]])('%j is rejected', (parsed) => {
    expect(() => outputsFromJson(parsed)).toThrow(expect.objectContaining({ kind: 'invalid' }))
  })
})
