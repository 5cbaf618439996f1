import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { createMessage, generateKey, sign } from 'openpgp'
import { beforeAll, describe, expect, test } from 'vitest'
import { zipOf } from '../agent/src/testing/engine-mirror.ts'
import { archiveOf } from '../server/src/testing/archives.ts'
import { type RemoteWorkspace, remoteWorkspace } from './remote-workspaces.ts'
import { ENDED, logOf, readRun, until } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'
import { HOST, hasTerraform, terraformDirectory } from './terraform.ts'

const hasTofu = (() => {
  try {
    execFileSync('tofu', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    console.warn('SKIPPED: tofu is not on the PATH, so its init from the registry is not tested')
    return false
  }
})()
const PLATFORM = { os: process.platform, arch: process.arch === 'x64' ? 'amd64' : process.arch }
const UPLOAD = { 'content-type': 'application/octet-stream' }

/** Init installs a provider without starting it, so any executable will do. */
async function publishProvider(server: BootedServer) {
  const key = await generateKey({ userIDs: [{ name: 'Release' }], format: 'object' })
  const post = async (path: string, type: string, attributes: object) =>
    (await server.api('POST', path, { data: { type, attributes } })).data
  const keys = `${server.url}/api/registry/private/v2/gpg-keys`
  const added = await post(keys, 'gpg-keys', { namespace: 'main', 'ascii-armor': key.publicKey.armor() })
  const providers = '/organizations/main/registry-providers'
  await post(providers, 'registry-providers', { name: 'dummy', namespace: 'main', 'registry-name': 'private' })
  const versions = `${providers}/private/main/dummy/versions`
  const attributes = { version: '1.2.0', 'key-id': added.attributes['key-id'], protocols: ['5.0'] }
  const version = await post(versions, 'registry-provider-versions', attributes)
  const archive = zipOf({ 'terraform-provider-dummy_v1.2.0': '#!/bin/sh\nexit 1\n' })
  const filename = `terraform-provider-dummy_1.2.0_${PLATFORM.os}_${PLATFORM.arch}.zip`
  const shasum = createHash('sha256').update(archive).digest('hex')
  const sums = Buffer.from(`${shasum}  ${filename}\n`)
  const platform = await post(`${versions}/1.2.0/platforms`, 'registry-provider-platforms', {
    ...PLATFORM,
    shasum,
    filename,
  })
  const message = await createMessage({ binary: sums })
  const signature = await sign({ message, signingKeys: key.privateKey, detached: true, format: 'binary' })
  await put(version.links['shasums-upload'], sums)
  await put(version.links['shasums-sig-upload'], Buffer.from(signature))
  await put(platform.links['provider-binary-upload'], archive)
}

async function publishModule(server: BootedServer) {
  const attributes = { name: 'greeting', provider: 'null' }
  await server.api('POST', '/organizations/main/registry-modules', { data: { type: 'registry-modules', attributes } })
  const version = { data: { type: 'registry-module-versions', attributes: { version: '1.0.0' } } }
  const { data } = await server.api('POST', '/registry-modules/main/greeting/null/versions', version)
  await put(data.links.upload, archiveOf({ 'main.tf': 'output "text" {\n  value = "hello"\n}\n' }))
}

async function put(url: string, body: Buffer) {
  const response = await fetch(url, { method: 'PUT', body: new Uint8Array(body), headers: UPLOAD })
  if (response.status !== 200) throw new Error(`PUT ${url} answered ${response.status}: ${await response.text()}`)
}

const PROVIDER = `terraform {
  required_providers {
    dummy = {
      source  = "${HOST}/main/dummy"
      version = "~> 1.0"
    }
  }
}
`
const MODULE = `module "greeting" {
  source  = "${HOST}/main/greeting/null"
  version = "~> 1.0"
}
output "text" {
  value = module.greeting.text
}
`

describe.skipIf(!hasTerraform)('the registry', () => {
  let server: BootedServer
  beforeAll(async () => {
    server = await bootServer()
    await publishProvider(server)
    await publishModule(server)
  })

  test.each([['terraform'], ...(hasTofu ? [['tofu']] : [])])('%s installs a module and a provider', async (program) => {
    const directory = await terraformDirectory(server, { 'main.tf': PROVIDER + MODULE })

    const init = await directory.ok(['init', '-input=false'], { program })

    expect(init.all).toMatch(
      /Installed groundstate\.local\/main\/dummy v1\.2\.0 \((?:self-)?signed, key ID [\dA-F]{16}\)/,
    )
    expect(await readFile(join(directory.path, '.terraform/modules/modules.json'), 'utf8')).toContain('1.0.0')
    const installed = `.terraform/providers/${HOST}/main/dummy/1.2.0/${PLATFORM.os}_${PLATFORM.arch}`
    expect((await stat(join(directory.path, installed))).isDirectory()).toBe(true)
    const lock = await readFile(join(directory.path, '.terraform.lock.hcl'), 'utf8')
    expect(lock).toContain(`provider "${HOST}/main/dummy"`)
  })

  test('a run installs both, with the token of the run', async () => {
    const modules = await remoteWorkspace(server, { name: 'modules', configuration: MODULE })
    const providers = await remoteWorkspace(server, { name: 'providers', configuration: PROVIDER })

    const logs = [await planOf(modules), await planOf(providers)]

    expect(logs[0]).toContain('hello')
    // The executable is no provider, so the plan fails once it is installed.
    expect(logs[1]).toContain(`fork/exec\n│ .terraform/providers/${HOST}/main/dummy/1.2.0/`)
  })

  /** The log of a plan-only run once it has ended. */
  async function planOf({ id, configurationId }: RemoteWorkspace) {
    const relationships = {
      workspace: { data: { type: 'workspaces', id } },
      'configuration-version': { data: { type: 'configuration-versions', id: configurationId } },
    }
    const body = { data: { type: 'runs', attributes: { 'plan-only': true }, relationships } }
    const run = (await server.api('POST', '/runs', body)).data.id
    await until(async () => ENDED.has((await readRun(server, run)).attributes.status))
    return stripVTControlCharacters(await logOf(server, run, 'plan'))
  }
})
