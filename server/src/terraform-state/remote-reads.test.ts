import { expect, test } from 'vitest'
import { remoteReads } from './remote-reads.ts'

const reader = (name: string, values: unknown = remote('network'), type = 'terraform_remote_state') => ({
  mode: 'data',
  type,
  name,
  values,
})
const remote = (workspace: unknown) => ({
  backend: 'remote',
  config: { organization: 'main', workspaces: { name: workspace } },
  outputs: {},
})

/** The reads of a configuration with this text, whose plan has these readers. */
function reads(text: string, readers: object[] = [reader('net')], module: object = {}) {
  const plan = {
    configuration: { root_module: { resources: readers, ...module } },
    prior_state: { values: { root_module: { resources: readers } } },
  }
  return remoteReads(plan, `data "terraform_remote_state" "net" {}\n${text}`)
}
const outputs = (text: string) => reads(text)?.map((read) => read.outputs)

test.each([
  ['x = data.terraform_remote_state.net.outputs.vpc', ['vpc']],
  ['x = data.terraform_remote_state.net.outputs.vpc.id[0]', ['vpc']],
  ['x = data.terraform_remote_state.net.outputs["vpc"]', ['vpc']],
  ['x = data.terraform_remote_state.net[0].outputs.vpc', ['vpc']],
  ['x = data.terraform_remote_state.net[each.key].outputs.vpc', ['vpc']],
  [
    'x = "a-${data.terraform_remote_state.net.outputs.vpc}-${data.terraform_remote_state.net.outputs.dns}"',
    ['vpc', 'dns'],
  ],
  ['locals { a = data . terraform_remote_state . net . outputs . vpc }', ['vpc']],
  ['{"x": "${data.terraform_remote_state.net.outputs.vpc}"}', ['vpc']],
  ['no reference', []],
])('%s names outputs', (text, names) => {
  expect(outputs(text)).toEqual([names])
})

test.each([
  'x = data.terraform_remote_state.net.outputs',
  'x = data.terraform_remote_state.net',
  'x = data.terraform_remote_state.net.outputs[var.name]',
  'x = data.terraform_remote_state.net.outputs["${var.name}"]',
  'x = data.terraform_remote_state.net.*.outputs.vpc',
  'x = data.terraform_remote_state.net.outputs.vpc\ny = data.terraform_remote_state.net.outputs',
])('%s may read any output', (text) => {
  expect(outputs(text)).toEqual([null])
})

test('the workspace and its organization are those of the plan', () => {
  expect(reads('data.terraform_remote_state.net.outputs.a')).toEqual([
    { organization: 'main', workspace: 'network', outputs: ['a'] },
  ])
})

test('outputs are read by tfe_outputs too', () => {
  const values = { organization: 'main', workspace: 'dns' }

  expect(
    reads('data.tfe_outputs.dns.values.zone data.tfe_outputs.dns.nonsensitive_values.ttl', [
      reader('dns', values, 'tfe_outputs'),
    ]),
  ).toEqual([{ organization: 'main', workspace: 'dns', outputs: ['zone', 'ttl'] }])
})

test('a state of another backend is not a read of a workspace', () => {
  expect(reads('', [reader('net', { backend: 's3', config: {} })])).toEqual([])
})

test.each([
  ['the name of the workspace is unknown', [reader('net', remote(null))], {}],
  [
    'a prefix selects the workspace',
    [reader('net', { backend: 'remote', config: { workspaces: { prefix: 'a-' } } })],
    {},
  ],
  [
    'a module from elsewhere reads',
    [],
    { module_calls: { far: { source: 'app.example/far', module: { resources: [reader('net')] } } } },
  ],
])('it is undecidable when %s', (_, readers, module) => {
  expect(reads('', readers, module)).toBeUndefined()
})

test('the result is unknown if a reader is deferred to the apply', () => {
  const plan = { configuration: { root_module: { resources: [reader('net')] } } }

  expect(remoteReads(plan, '')).toBeUndefined()
})

test('modules inside the configuration are read', () => {
  const plan = {
    configuration: {
      root_module: { module_calls: { near: { source: './near', module: { resources: [reader('net')] } } } },
    },
    prior_state: { values: { root_module: { child_modules: [{ resources: [reader('net')] }] } } },
  }

  expect(remoteReads(plan, 'data.terraform_remote_state.net.outputs.a')).toEqual([
    { organization: 'main', workspace: 'network', outputs: ['a'] },
  ])
})
