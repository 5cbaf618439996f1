import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import {
  configuration,
  describeWithTerraform,
  ONE_RESOURCE,
  startServer,
  temporaryFolder,
} from './testing/agent-fixture.ts'
import { archiveOf } from './testing/archive.ts'
import { env, planned, startNotedAgent } from './testing/noted-agent.ts'

const ARCHIVE = configuration(ONE_RESOURCE)

describeWithTerraform('a second run of a configuration with its providers and modules', () => {
  test('is initialized when its state has gained a provider that is not there', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    await planned(server, agent, { configuration: ARCHIVE })

    const builtIn = ['provider["terraform.io/builtin/terraform"]']
    const known = await planned(server, agent, { configuration: ARCHIVE, stateProviders: builtIn })
    const stateProviders = [...builtIn, 'module.a.provider["registry.terraform.io/hashicorp/random"].alias']
    const more = await planned(server, agent, { configuration: ARCHIVE, stateProviders })

    expect([known.inits, more.inits]).toEqual([0, 1])
  })

  test.each([
    ['is initialized where it has a module of a folder of the machine', 1, (folder: string) => folder],
    ['is initialized where it has a branch of a repository', 1, (folder: string) => `git::file://${folder}?ref=main`],
    [
      'needs no init where it has a commit of a repository',
      0,
      (folder: string, commit: string) => `git::file://${folder}?ref=${commit}`,
    ],
  ])('%s', async (_, inits, source) => {
    const { folder, commit } = await repository()
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const job = {
      configuration: configuration(`module "m" { source = "${source(folder, commit)}" }\n${ONE_RESOURCE}`),
      variables: [env('GIT_CONFIG_GLOBAL', join(folder, 'trust'))],
    }
    await planned(server, agent, job)

    const again = await planned(server, agent, job)

    expect(again).toMatchObject({ inits, outcome: { status: 'finished', counts: { additions: 1 } } })
  })

  test('needs no init with providers that its lock file chooses, and needs one without a lock file', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const variables = [env('XDG_DATA_HOME', await mirrorFolder())]
    const open = await planned(server, agent, { configuration: withProvider(), variables })
    const openAgain = await planned(server, agent, { configuration: withProvider(), variables })
    const lock = open.plan.artifacts.get('lock-file')?.toString() ?? ''

    const pinned = await planned(server, agent, { configuration: withProvider(lock), variables })
    const pinnedAgain = await planned(server, agent, {
      configuration: withProvider(lock),
      variables,
      stateProviders: ['provider["example.com/acme/first"]'],
    })

    expect(lock).toContain('example.com/acme/first')
    expect(openAgain.inits).toBe(1)
    expect([pinned.inits, pinnedAgain.inits]).toEqual([1, 0])
    expect(pinnedAgain.outcome).toMatchObject({ status: 'finished' })
    expect(pinnedAgain.plan.artifacts.get('lock-file')?.toString()).toBe(lock)
  })

  test('is initialized when its providers have gone from the plugin cache', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const variables = [env('XDG_DATA_HOME', await mirrorFolder())]
    const { plan } = await planned(server, agent, { configuration: withProvider(), variables })
    const job = { configuration: withProvider(plan.artifacts.get('lock-file')?.toString()), variables }
    await planned(server, agent, job)
    const warm = await planned(server, agent, job)
    await rm(join(agent.workDir, 'plugins/org-acme/example.com'), { recursive: true })

    const again = await planned(server, agent, job)

    expect(warm.inits).toBe(0)
    expect(again).toMatchObject({ inits: 1, outcome: { status: 'finished' } })
  })

  test('is initialized with a provider that lies in its archive: the plugin cache links into the folder of a run', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const { plan } = await planned(server, agent, { configuration: withProvider(undefined, PROVIDER_FILE) })
    const configuration = withProvider(plan.artifacts.get('lock-file')?.toString(), PROVIDER_FILE)
    await planned(server, agent, { configuration })

    const again = await planned(server, agent, { configuration })

    expect(again).toMatchObject({ inits: 1, outcome: { status: 'finished' } })
  })

  test('has the modules of its archive, also when what was kept of its init is damaged', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const source = 'git::https://example.invalid/m.git'
    const modules = [
      { Key: '', Source: '', Dir: '.' },
      { Key: 'm', Source: source, Dir: '.terraform/modules/m' },
    ]
    const archive = configuration(`module "m" { source = "${source}" }\n${ONE_RESOURCE}`, {
      '.terraform/modules/modules.json': JSON.stringify({ Modules: modules }),
      '.terraform/modules/m/main.tf': 'output "brought" { value = 1 }',
    })
    const first = await planned(server, agent, { configuration: archive })
    const second = await planned(server, agent, { configuration: archive })
    const kept = join(agent.workDir, 'warm')
    const names = await readdir(kept)
    for (const name of names.filter((name) => existsSync(join(kept, name, 'init.json'))))
      for (const file of await readdir(join(kept, name))) if (/^\d+$/.test(file)) rmSync(join(kept, name, file))

    const third = await planned(server, agent, { configuration: archive })

    expect([first.inits, second.inits, third.inits]).toEqual([1, 0, 1])
    for (const { outcome } of [first, second, third]) expect(outcome).toMatchObject({ status: 'finished' })
  })
})

/** With a file that makes git trust a repository of another user. */
async function repository() {
  const folder = await temporaryFolder()
  await chmod(folder, 0o755)
  await writeFile(join(folder, 'main.tf'), '')
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
      encoding: 'utf8',
    }).trim()
  git('init', '--quiet', '--initial-branch=main')
  git('add', '.')
  git('commit', '--quiet', '--message=x')
  await writeFile(join(folder, 'trust'), '[safe]\n\tdirectory = *\n')
  return { folder, commit: git('rev-parse', 'HEAD') }
}

const PROVIDER_FILE = 'example.com/acme/first/1.0.0/linux_amd64/terraform-provider-first_v1.0.0'

/** A folder of user data in which an engine looks for providers. */
async function mirrorFolder() {
  const folder = await temporaryFolder()
  await chmod(folder, 0o755)
  const file = join(folder, 'terraform/plugins', PROVIDER_FILE)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, '#!/bin/sh\n', { mode: 0o755 })
  return folder
}

/** Init installs the provider for a test of the configuration; a plan need not start it. */
function withProvider(lock?: string, file?: string) {
  const needs = `terraform {
  required_providers { first = { source = "example.com/acme/first" } }
}`
  return archiveOf({
    'main.tf': ONE_RESOURCE,
    'x.tftest.hcl': 'run "x" {\n  command = plan\n  module { source = "./testing" }\n}\n',
    'testing/main.tf': needs,
    ...(file === undefined ? {} : { [`terraform.d/plugins/${file}`]: '#!/bin/sh' }),
    ...(lock === undefined ? {} : { '.terraform.lock.hcl': lock }),
  })
}
