import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { create } from 'tar'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { resumeDocuments } from './jobs.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
let count = 0

async function send(method: 'GET' | 'POST', url: string, data?: object, token = owner.token) {
  return app.request({ method, url: `/api/v2${url}`, token, ...(data && { body: { data } }) })
}

async function packed(files: Record<string, string>) {
  const directory = await mkdtemp(join(tmpdir(), 'module-'))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), text)
  }
  const chunks: Buffer[] = []
  for await (const chunk of create({ gzip: true, cwd: directory, portable: true }, ['.'])) chunks.push(chunk)
  await rm(directory, { recursive: true })
  return Buffer.concat(chunks)
}

/** Publishes the files as a version of a new module; returns the id of the version. */
async function publish(files: Record<string, string>): Promise<string> {
  count += 1
  const name = `module${count}`
  const module = { type: 'registry-modules', attributes: { name, provider: 'aws', 'registry-name': 'private' } }
  await send('POST', `/organizations/${acme.name}/registry-modules`, module)
  const version = { type: 'registry-module-versions', attributes: { version: '1.0.0' } }
  const { data } = (await send('POST', `/registry-modules/${acme.name}/${name}/aws/versions`, version)).json()
  const uploaded = await app.request({
    method: 'PUT',
    url: new URL(data.links.upload).pathname,
    body: await packed(files),
  })
  expect(uploaded.status).toBe(200)
  return data.id
}

async function documentsOf(id: string) {
  return (await send('GET', `/registry-module-versions/${id}/documents`)).json().data.attributes
}

const NETWORK = `
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
    old = "1.2.3"
  }
}
variable "subnets" {
  type        = list(object({ cidr = string }))
  description = "The subnets."
  default     = [{ cidr = "10.0.0.0/24" }]
}
variable "name" {}
variable "password" {
  type      = string
  default   = "hunter2"
  sensitive = true
}
output "id" {
  description = "The id."
  value       = aws_vpc.this.id
}
module "labels" {
  source  = "acme/labels/null"
  version = "1.0.0"
}
resource "aws_vpc" "this" {
  cidr_block = "10.0.0.0/16"
}
data "random_pet" "name" {}
`

test('documents describe the root, the submodules and the examples', async () => {
  const id = await publish({
    'README.md': '# Network\n',
    'main.tf': NETWORK,
    'modules/peering/variables.tf': 'variable "peer" {}\n',
    'modules/peering/README.md': '# Peering\n',
    'examples/small/main.tf.json': '{"module": {"network": {"source": "../.."}}}',
    'test/ignored.tf': 'variable "ignored" {}\n',
  })

  const before = await documentsOf(id)
  await app.runJobs()
  const after = await documentsOf(id)

  expect(before).toMatchObject({ status: 'pending', modules: [] })
  expect(after).toMatchObject({ status: 'ready', problems: [] })
  expect(after.modules.map(({ path, kind }: any) => [path, kind])).toEqual([
    ['', 'root'],
    ['modules/peering', 'submodule'],
    ['examples/small', 'example'],
  ])
  expect(after.modules[0]).toEqual({
    path: '',
    kind: 'root',
    readme: { path: 'README.md', markdown: '# Network\n', 'is-cut': false },
    'required-version': '>= 1.5',
    inputs: [
      { name: 'name', type: null, description: null, default: null, required: true, sensitive: false },
      { name: 'password', type: 'string', description: null, default: null, required: false, sensitive: true },
      {
        name: 'subnets',
        type: 'list(object({ cidr = string }))',
        description: 'The subnets.',
        default: '[{"cidr":"10.0.0.0/24"}]',
        required: false,
        sensitive: false,
      },
    ],
    outputs: [{ name: 'id', description: 'The id.', sensitive: false }],
    providers: [
      { name: 'aws', source: 'hashicorp/aws', version: '~> 5.0' },
      { name: 'old', source: 'hashicorp/old', version: '1.2.3' },
      { name: 'random', source: 'hashicorp/random', version: null },
    ],
    dependencies: [{ name: 'labels', source: 'acme/labels/null', version: '1.0.0' }],
    resources: [
      { type: 'aws_vpc', name: 'this', mode: 'managed' },
      { type: 'random_pet', name: 'name', mode: 'data' },
    ],
  })
  const shown = (
    await app.request({
      method: 'GET',
      url: `/api/registry/v1/modules/${acme.name}/module${count}/aws/1.0.0`,
      token: owner.token,
    })
  ).json()
  expect(shown.root).toMatchObject({ name: `module${count}`, readme: '# Network\n', empty: false })
  expect(shown.root.inputs[0]).toEqual({ name: 'name', type: 'any', description: '', default: '', required: true })
  expect(shown.submodules).toMatchObject([{ path: 'modules/peering', name: 'peering' }])
  expect(after.modules[2].dependencies).toEqual([{ name: 'network', source: '../..', version: null }])
})

test('a file that cannot be parsed is named with its line, and the others are documented', async () => {
  const id = await publish({
    'main.tf': 'variable "a" {\n  type = \n}\n',
    'deep.tf': `locals {\n  a = ${'['.repeat(10_000)}${']'.repeat(10_000)}\n}\n`,
    'outputs.tf': 'output "b" {\n  value = 1\n}\n',
    'broken.tf.json': '{"variable": ',
  })

  await app.runJobs()

  const { modules, problems } = await documentsOf(id)
  expect(modules[0].outputs).toMatchObject([{ name: 'b' }])
  expect(problems.map(({ path }: any) => path).toSorted()).toEqual(['broken.tf.json', 'deep.tf', 'main.tf'])
  expect(problems.find(({ path }: any) => path === 'main.tf').message).toContain('main.tf:2')
})

test('large and many files are named instead of read', async () => {
  const id = await publish({
    'large.tf': `# ${'x'.repeat(600 * 1024)}\n`,
    'README.md': `# Long\n${'y'.repeat(600 * 1024)}`,
    ...Object.fromEntries(Array.from({ length: 2100 }, (_, index) => [`f${index}.tf`, `variable "v${index}" {}\n`])),
  })

  await app.runJobs()

  const { modules, problems } = await documentsOf(id)
  expect(modules[0].readme).toMatchObject({ 'is-cut': true })
  expect(modules[0].readme.markdown.length).toBe(256 * 1024)
  expect(problems).toContainEqual({
    path: 'large.tf',
    message: 'not read: the file is larger than 524288 bytes',
  })
  expect(problems).toContainEqual({ path: '', message: 'only the first 2000 files of the module were read' })
  expect(problems).toHaveLength(2)
})

test('the job is idempotent, and ends with its version', async () => {
  const id = await publish({ 'main.tf': 'variable "a" {}\n' })
  await app.runJobs()
  const first = await documentsOf(id)

  const url = `/api/v2/organizations/${acme.name}/registry-modules/private/${acme.name}/module${count}/aws/1.0.0`
  const deleted = await app.request({ method: 'DELETE', url, token: owner.token })
  const gone = await send('GET', `/registry-module-versions/${id}/documents`)

  expect(first.status).toBe('ready')
  expect(deleted.status).toBe(204)
  expect(gone.status).toBe(404)
})

test('outsiders may not see them', async () => {
  const id = await publish({ 'main.tf': '' })
  const outsider = await createUser(app)

  const response = await send('GET', `/registry-module-versions/${id}/documents`, undefined, outsider.token)

  expect(response.status).toBe(404)
})

test.each([
  ['a null byte', { 'main.tf': 'variable "a" {\n  description = "x\\u0000y"\n}\n' }, 'x\u{FFFD}y'],
  ['half a character', { 'main.tf.json': '{"variable":{"a":{"description":"x\\ud800y"}}}' }, 'x\u{FFFD}y'],
  [
    'a character at the limit of texts',
    { 'main.tf': `variable "a" {\n  description = "${'a'.repeat(9999)}😀"\n}\n` },
    `${'a'.repeat(9999)}\u{FFFD}…`,
  ],
])('%s does not keep a module from being documented', async (_, files, description) => {
  const id = await publish(files)

  await app.runJobs()

  expect(await documentsOf(id)).toMatchObject({ status: 'ready', modules: [{ inputs: [{ name: 'a', description }] }] })
})

test('JSON that is nested too deep is a problem of its file', async () => {
  const value = '['.repeat(100_000) + ']'.repeat(100_000)
  const id = await publish({ 'a.tf.json': `{"variable":{"a":{"default":${value}}}}`, 'b.tf': 'output "b" {}' })

  await app.runJobs()

  expect(await documentsOf(id)).toMatchObject({
    status: 'ready',
    problems: [{ path: 'a.tf.json', message: 'it is nested too deep' }],
    modules: [{ outputs: [{ name: 'b' }] }],
  })
})

test('a version whose job is gone is documented an hour later', async () => {
  const id = await publish({ 'main.tf': 'output "a" {}' })
  await app.db.deleteFrom('pgboss.job' as never).execute()

  app.clock.advance(3_600_001)
  await resumeDocuments(app.as())
  await app.runJobs()

  expect(await documentsOf(id)).toMatchObject({ status: 'ready', modules: [{ outputs: [{ name: 'a' }] }] })
})

test('a version without a configuration file says so', async () => {
  const id = await publish({ 'README.md': '# Nothing\n' })

  await app.runJobs()
  const { problems } = await documentsOf(id)

  expect(problems).toEqual([
    { path: '', message: 'the root has no configuration file, such as main.tf: it cannot be used as a module' },
  ])
})
