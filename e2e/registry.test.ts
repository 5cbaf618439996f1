import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { createMessage, generateKey, sign } from 'openpgp'
import { beforeAll, describe, expect, test } from 'vitest'
import { zipOf } from '../agent/src/testing/engine-mirror.ts'
import { greeting, publishGreeting, putFile } from './published-module.ts'
import { type RemoteWorkspace, remoteWorkspace, startRun } from './remote-workspaces.ts'
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
  await putFile(version.links['shasums-upload'], sums)
  await putFile(version.links['shasums-sig-upload'], Buffer.from(signature))
  await putFile(platform.links['provider-binary-upload'], archive)
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
const MODULE = greeting('~> 1.0')

describe.skipIf(!hasTerraform)('the registry', () => {
  let server: BootedServer
  beforeAll(async () => {
    server = await bootServer()
    await publishProvider(server)
    await publishGreeting(server, ['1.0.0', '1.1.0'])
  })

  test.each([['terraform'], ...(hasTofu ? [['tofu']] : [])])('%s installs a module and a provider', async (program) => {
    const directory = await terraformDirectory(server, { 'main.tf': PROVIDER + MODULE })

    const init = await directory.ok(['init', '-input=false'], { program })

    expect(init.all).toMatch(
      /Installed groundstate\.local\/main\/dummy v1\.2\.0 \((?:self-)?signed, key ID [\dA-F]{16}\)/,
    )
    expect(await readFile(join(directory.path, '.terraform/modules/modules.json'), 'utf8')).toContain('1.1.0')
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

  test('the latest run of a workspace defines what it uses, and a deletion names it', async () => {
    const module = (await server.api('GET', '/organizations/main/registry-modules')).data[0].id
    const provider = (await server.api('GET', '/organizations/main/registry-providers')).data[0].id
    const old = await remoteWorkspace(server, { name: 'old', configuration: greeting('1.0.0') })
    const both = await remoteWorkspace(server, { name: 'both', configuration: PROVIDER + MODULE })
    const endOf = async (workspace: RemoteWorkspace) => {
      const run = await startRun(server, workspace)
      return until(
        async () => ((await readRun(server, run)).attributes.status as string).match(/^(?:errored|applied)$/)?.[0],
      )
    }
    const version = '/organizations/main/registry-modules/private/main/greeting/null/1.0.0'

    const statuses = [await endOf(old), await endOf(both)]
    const uses = [await usesOf(`registry-modules/${module}`), await usesOf(`registry-providers/${provider}`)]
    const refused = await server.api('DELETE', version, undefined, { expect: 409 })
    await server.api('DELETE', `${version}?force=true`)

    // The provider's executable is none, so the plan fails after init has installed it.
    expect(statuses).toEqual(['applied', 'errored'])
    expect(uses).toEqual([['both 1.1.0', 'old 1.0.0'], ['both 1.2.0']])
    expect(refused.errors[0].detail).toContain('used by workspaces: old;')
  })

  async function usesOf(path: string): Promise<string[]> {
    type Use = { attributes: { 'workspace-name': string; version: string } }
    const { data } = await server.api('GET', `/${path}/workspaces`)
    return (data as Use[]).map(({ attributes }) => `${attributes['workspace-name']} ${attributes.version}`)
  }

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
