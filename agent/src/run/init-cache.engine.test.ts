import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import {
  ONE_RESOURCE,
  configuration,
  describeWithTerraform,
  hooksDirectory,
  scripted,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'
import { archiveOf } from '../testing/archive.ts'
import { SAID, env, planned, startNotedAgent } from '../testing/noted-agent.ts'
import type { JobInput } from '../testing/protocol-job.ts'

const ARCHIVE = configuration(ONE_RESOURCE)
const CHOOSE = `variable "path" { default = "main.tf" }
output "size" { value = length(file(var.path)) }`

describeWithTerraform('a second run of a configuration', () => {
  test('needs no init, logs that, and has the same result', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)

    const first = await planned(server, agent, { configuration: ARCHIVE })
    const second = await planned(server, agent, { configuration: ARCHIVE, runId: 'run-b' })
    const apply = server.submit({ kind: 'apply', runId: 'run-b', configuration: ARCHIVE })

    expect(first).toMatchObject({ inits: 1, logged: false, outcome: { status: 'finished', counts: { additions: 1 } } })
    expect(second).toMatchObject({ inits: 0, logged: true, outcome: { status: 'finished', counts: { additions: 1 } } })
    expect(await apply.finished).toMatchObject({ status: 'finished' })
  })

  test.each<[string, Partial<JobInput>]>([
    ['another configuration', { configuration: configuration(ONE_RESOURCE, { 'more.tf': '' }) }],
    ['another workspace', { workspaceId: 'ws-acme-other', workspaceName: 'other' }],
    ['another name of its workspace', { workspaceName: 'renamed' }],
    ['another organization', { organizationId: 'org-other' }],
    ['another working directory', { workingDirectory: 'live' }],
    ['another environment', { variables: [env('PRIVATE', 'other')] }],
    ['an additional host name', { hostNames: ['other.example.com'] }],
    ['debug logs', { options: { debug: true } }],
    ['arguments for init', { variables: [env('TF_CLI_ARGS_init', '-get=true')] }],
    ['a state with unknown providers', { stateProviders: undefined }],
  ])('is initialized with %s', async (_, different) => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const archive = archiveOf({ 'main.tf': ONE_RESOURCE, 'live/main.tf': ONE_RESOURCE })
    const job = { configuration: archive, variables: [env('PRIVATE', 'one')] }
    await planned(server, agent, job)

    const other = await planned(server, agent, { ...job, ...different })
    const same = await planned(server, agent, job)

    expect(other).toMatchObject({ inits: 1, logged: false })
    expect(same).toMatchObject({ inits: 0, logged: true })
  })

  test('is recognised by the digest of its archive, regardless of its id', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    await planned(server, agent, { configuration: ARCHIVE, configurationVersionId: 'cv-a' })

    const other = await planned(server, agent, { configuration: ARCHIVE, configurationVersionId: 'cv-b' })

    expect(other.inits).toBe(0)
  })

  test('is initialized after a failed one', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const archive = configuration(CHOOSE)
    await planned(server, agent, { configuration: archive })
    const missing = { ...env('path', 'gone.tf'), category: 'terraform' as const }
    const failed = await planned(server, agent, { configuration: archive, variables: [missing] })

    const again = await planned(server, agent, { configuration: archive })

    expect(failed).toMatchObject({ inits: 0, outcome: { status: 'errored' } })
    expect(again).toMatchObject({ inits: 1, outcome: { status: 'finished' } })
  })

  test('does not share files with another one', async () => {
    const server = await startServer()
    const spoil = `for file in main.tf .terraform/terraform.tfstate; do echo >> $file; wc -c $file; done`
    const agent = await startNotedAgent(server, {
      concurrency: 2,
      hooks: await hooksDirectory({ 'post-plan': spoil }),
    })
    const first = await planned(server, agent, { configuration: ARCHIVE })

    const plans = [server.submit({ configuration: ARCHIVE }), server.submit({ configuration: ARCHIVE })]
    const outcomes = await Promise.all(plans.map(({ finished }) => finished))
    const last = await planned(server, agent, { configuration: ARCHIVE })

    const sizes = (log: string) => log.match(/^\d+ (main.tf|.terraform\/terraform.tfstate)$/gm)
    expect(outcomes).toMatchObject([{ status: 'finished' }, { status: 'finished' }])
    expect(agent.inits()).toBe(1)
    expect(sizes(first.plan.log())).toHaveLength(2)
    for (const plan of [...plans, last.plan]) expect(sizes(plan.log())).toEqual(sizes(first.plan.log()))
  })

  test('is initialized after a restart, and by an agent with a hook that may change the configuration', async () => {
    const server = await startServer()
    const first = await startNotedAgent(server)
    await planned(server, first, { configuration: ARCHIVE })
    first.stop()
    await first.ended
    const hooks = await hooksDirectory({ 'pre-plan': 'echo >> main.tf' })
    const agent = await startNotedAgent(server, { workDir: first.workDir, hooks })

    const again = await planned(server, agent, { configuration: ARCHIVE })
    const third = await planned(server, agent, { configuration: ARCHIVE })

    expect([again.inits, third.inits]).toEqual([1, 1])
  })

  test('needs no init for an apply in another directory', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server, { planDirectoryLimit: 0 })
    const { plan } = await planned(server, agent, { configuration: ARCHIVE, runId: 'run-a' })
    await expect.poll(() => readdir(join(agent.workDir, 'runs'))).toEqual([])

    const { artifacts } = plan
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: ARCHIVE, artifacts })

    expect(await apply.finished).toMatchObject({ status: 'finished' })
    expect(agent.inits()).toBe(1)
    expect(apply.log().split('\n')[3]).toBe(SAID.trim())
  })

  test.skipIf(process.geteuid?.() !== 0)('has files owned by its user', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const archive = scripted('echo not mine: $(find . ! -user $(id -u) | wc -l)')
    await planned(server, agent, { configuration: archive })

    const { logged, plan } = await planned(server, agent, { configuration: archive })
    const apply = server.submit({ kind: 'apply', runId: plan.runId, configuration: archive })
    await apply.finished

    expect(logged).toBe(true)
    expect(apply.log()).toContain('not mine: 0')
  })

  test('is initialized when its state has a new provider', async () => {
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
    ['is initialized if a module is in a local directory', 1, (directory: string) => directory],
    [
      'is initialized where it has a branch of a repository',
      1,
      (directory: string) => `git::file://${directory}?ref=main`,
    ],
    ['needs no init where it has a module of its archive', 0, () => './modules/m'],
  ])('%s', async (_, inits, source) => {
    const directory = await repository()
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const job = {
      configuration: archiveOf({
        'main.tf': `module "m" { source = "${source(directory)}" }\n${ONE_RESOURCE}`,
        'modules/m/main.tf': '',
      }),
      variables: [env('GIT_CONFIG_GLOBAL', join(directory, 'trust'))],
    }
    await planned(server, agent, job)

    const again = await planned(server, agent, job)

    expect(again).toMatchObject({ inits, outcome: { status: 'finished', counts: { additions: 1 } } })
  })

  test('needs no init with pinned providers, and needs one without a lock file', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const variables = [env('XDG_DATA_HOME', await mirrorDirectory())]
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

  test('is initialized when its providers are missing from the plugin cache', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const variables = [env('XDG_DATA_HOME', await mirrorDirectory())]
    const { plan } = await planned(server, agent, { configuration: withProvider(), variables })
    const job = { configuration: withProvider(plan.artifacts.get('lock-file')?.toString()), variables }
    await planned(server, agent, job)
    const warm = await planned(server, agent, job)
    await rm(join(agent.workDir, 'plugins/org-acme/example.com'), { recursive: true })

    const again = await planned(server, agent, job)

    expect(warm.inits).toBe(0)
    expect(again).toMatchObject({ inits: 1, outcome: { status: 'finished' } })
  })

  test('is initialized with a provider in its archive, since the plugin cache links to the directory of a run', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const { plan } = await planned(server, agent, { configuration: withProvider(undefined, PROVIDER_FILE) })
    const configuration = withProvider(plan.artifacts.get('lock-file')?.toString(), PROVIDER_FILE)
    await planned(server, agent, { configuration })

    const again = await planned(server, agent, { configuration })

    expect(again).toMatchObject({ inits: 1, outcome: { status: 'finished' } })
  })

  test('is initialized with an installed module in its archive', async () => {
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
    await planned(server, agent, { configuration: archive })

    const again = await planned(server, agent, { configuration: archive })

    expect(again).toMatchObject({ inits: 1, outcome: { status: 'finished' } })
  })
})

/** With a file that makes git trust a repository of another user. */
async function repository() {
  const directory = await temporaryDirectory()
  await chmod(directory, 0o755)
  await writeFile(join(directory, 'main.tf'), '')
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', directory, '-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args])
  git('init', '--quiet', '--initial-branch=main')
  git('add', '.')
  git('commit', '--quiet', '--message=x')
  await writeFile(join(directory, 'trust'), '[safe]\n\tdirectory = *\n')
  return directory
}

const PROVIDER_FILE = 'example.com/acme/first/1.0.0/linux_amd64/terraform-provider-first_v1.0.0'

/** A directory of user data in which an engine looks for providers. */
async function mirrorDirectory() {
  const directory = await temporaryDirectory()
  await chmod(directory, 0o755)
  const file = join(directory, 'terraform/plugins', PROVIDER_FILE)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, '#!/bin/sh\n', { mode: 0o755 })
  return directory
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
