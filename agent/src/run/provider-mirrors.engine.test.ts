import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { platformName } from '../engine/engine-download.ts'
import type { AgentOptions } from '../settings/agent-options.ts'
import {
  configuration,
  describeWithTerraform,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'
import { makeCertificate } from '../testing/certificate.ts'
import { zipOf } from '../testing/engine-mirror.ts'

const ADDRESS = 'registry.terraform.io/acme/dummy'
/** Init installs a provider without starting it, so any executable will do; the plan then fails. */
const PROGRAM = '#!/bin/sh\nexit 1\n'
const INSTALLED = `.terraform/providers/${ADDRESS}/1.2.0/`

/** A directory that holds the provider as `terraform providers mirror` or an unpacked archive would. */
async function directoryMirror() {
  const directory = join(await temporaryDirectory(), 'providers')
  const version = join(directory, ADDRESS, '1.2.0', platformName())
  await mkdir(version, { recursive: true })
  await chmod(join(directory, '..'), 0o755)
  await writeFile(join(version, 'terraform-provider-dummy_v1.2.0'), PROGRAM, { mode: 0o755 })
  return directory
}

/** A network mirror over TLS; `requests` has the paths that it was asked for. */
async function networkMirror() {
  const { file, ...tls } = await makeCertificate('DNS:localhost')
  const contents: Record<string, Buffer | string> = {
    'index.json': JSON.stringify({ versions: { '1.2.0': {} } }),
    '1.2.0.json': JSON.stringify({ archives: { [platformName()]: { url: 'dummy.zip' } } }),
    'dummy.zip': zipOf({ 'terraform-provider-dummy_v1.2.0': PROGRAM }),
  }
  const requests: string[] = []
  const server = createServer(tls, ({ url = '' }, response) => {
    requests.push(url)
    const content = contents[url.replace(`/mirror/${ADDRESS}/`, '')]
    const type = url.endsWith('.zip') ? 'application/zip' : 'application/json'
    response.writeHead(content === undefined ? 404 : 200, { 'content-type': type }).end(content)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `https://localhost:${(server.address() as AddressInfo).port}/mirror/`, caFile: file, requests }
}

/** The log of a plan that requires the provider. */
async function planOf(options: Partial<AgentOptions>, source = 'acme/dummy') {
  const server = await startServer()
  await startAgent(server, options)
  const provider = `terraform {\n  required_providers {\n    dummy = {\n      source = "${source}"\n    }\n  }\n}\n`
  const plan = server.submit({ configuration: configuration(provider) })
  expect(await plan.finished).toMatchObject({ status: 'errored' })
  const log = stripVTControlCharacters(plan.log()).replaceAll(/[\s│]+/g, ' ')
  expect(log).not.toContain('problems with the CLI configuration')
  return log
}

describeWithTerraform('a provider mirror', () => {
  test.each([false, true])('may be a directory; with a sandbox: %s', async (sandbox) => {
    const log = await planOf({ providerMirrors: [await directoryMirror()], sandbox })

    expect(log).toContain(INSTALLED)
  })

  test('may be a server, whose certificate is issued by the authority of the agent', async () => {
    const { url, caFile, requests } = await networkMirror()

    const log = await planOf({ providerMirrors: [url], caFile })

    const paths = ['index.json', '1.2.0.json', 'dummy.zip'].map((name) => `/mirror/${ADDRESS}/${name}`)
    expect([...new Set(requests)]).toEqual(paths)
    expect(log).toContain(INSTALLED)
  })

  test('is the only source of providers of other hosts', async () => {
    const { url, caFile, requests } = await networkMirror()

    const log = await planOf({ providerMirrors: [url], caFile }, 'acme/missing')

    expect(requests).toEqual(['/mirror/registry.terraform.io/acme/missing/index.json'])
    expect(log).toContain('acme/missing was not found in any of the search locations - provider mirror at')
  })

  test('complements the registries with direct', async () => {
    const { url, caFile, requests } = await networkMirror()

    const log = await planOf({ providerMirrors: [url, 'direct'], caFile }, 'registry.invalid/acme/dummy')

    expect(requests).toEqual(['/mirror/registry.invalid/acme/dummy/index.json'])
    expect(log).toContain('registry.invalid')
    expect(log).toMatch(/could not connect to registry\.invalid/i)
  })

  test('is not asked for providers of this server', async () => {
    const { url, caFile, requests } = await networkMirror()

    const log = await planOf(
      { providerMirrors: [url, await directoryMirror()], caFile },
      'groundstate.internal/acme/own',
    )

    expect(requests).toEqual([])
    expect(log).toContain('groundstate.internal/acme/own')
  })

  test.each([
    ['does not exist', async () => '/nowhere/providers', 'there is no such file or directory'],
    [
      'is closed to the users of runs',
      async () => {
        const mirror = await directoryMirror()
        await chmod(mirror, 0o700)
        return mirror
      },
      /the users of runs cannot enter .*providers: run chmod o\+x/,
    ],
  ])('that %s stops the agent', async (_, makeMirror, reason) => {
    const mirror = await makeMirror()

    const { ended } = await startAgent(await startServer(), { providerMirrors: [mirror], isolation: 'user' })

    await expect(ended).rejects.toThrow(reason)
    await expect(ended).rejects.toThrow(`GROUNDSTATE_PROVIDER_MIRROR ${mirror}: `)
  })
})
