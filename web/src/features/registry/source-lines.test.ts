import { expect, test } from 'vitest'
import type { DocumentedModule } from './registry.ts'
import { moduleBlock, providerBlock } from './source-lines.ts'

const input = { description: null, default: null, required: true, sensitive: false }
const place = { host: 'tf.example.com', organization: 'main', name: 'network', version: '1.2.0' }
const module: DocumentedModule = {
  path: 'modules/peering',
  kind: 'submodule',
  readme: null,
  'required-version': null,
  inputs: [
    { ...input, name: 'id', type: 'string' },
    { ...input, name: 'subnets', type: 'list(object({\n  cidr = string\n}))' },
    { ...input, name: 'tags', type: null, required: false },
  ],
  outputs: [],
  providers: [],
  dependencies: [],
  resources: [],
}

test('a module is called with its directory and its required inputs', () => {
  expect(moduleBlock({ ...place, provider: 'aws', module })).toBe(`module "network" {
  source  = "tf.example.com/main/network/aws//modules/peering"
  version = "1.2.0"

  id      = null # string
  subnets = null # list(object({ cidr = string }))
}`)
})

test('before the documents are known, a module is called without inputs', () => {
  expect(moduleBlock({ ...place, provider: 'aws', module: undefined })).toBe(`module "network" {
  source  = "tf.example.com/main/network/aws"
  version = "1.2.0"
}`)
})

test('a provider is required with its source', () => {
  expect(providerBlock({ ...place, name: 'cloud' })).toContain('source  = "tf.example.com/main/cloud"')
})
