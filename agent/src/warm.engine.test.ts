import { createHash } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  configuration,
  describeWithTerraform,
  hooksFolder,
  ONE_RESOURCE,
  scripted,
  startServer,
} from './testing/agent-fixture.ts'
import { archiveOf } from './testing/archive.ts'
import { env, planned, SAID, startNotedAgent } from './testing/noted-agent.ts'
import type { JobInput } from './testing/protocol-job.ts'

const ARCHIVE = configuration(ONE_RESOURCE)
const CHOOSE = `variable "path" { default = "main.tf" }
output "size" { value = length(file(var.path)) }`

describeWithTerraform('a second run of a configuration', () => {
  test('needs no init and no download, says so, and comes to the same', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)

    const first = await planned(server, agent, { configuration: ARCHIVE })
    const second = await planned(server, agent, { configuration: ARCHIVE, runId: 'run-b' })
    const apply = server.submit({ kind: 'apply', runId: 'run-b', configuration: ARCHIVE })

    expect(first).toMatchObject({ inits: 1, said: false, outcome: { status: 'finished', counts: { additions: 1 } } })
    expect(second).toMatchObject({ inits: 0, said: true, outcome: { status: 'finished', counts: { additions: 1 } } })
    expect([first.plan.fetches(), second.plan.fetches()]).toEqual([1, 0])
    expect(await apply.finished).toMatchObject({ status: 'finished', counts: { additions: 1 } })
  })

  test('has the files of its archive as they were', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const main = `resource "terraform_data" "look" {
  triggers_replace = timestamp()
  provisioner "local-exec" { command = "stat -c '%a %Y %N' main.tf sub/x; stat -c '%a 0 %N' link; cat link; touch main.tf sub/x" }
}`
    const archive = archiveOf({ 'main.tf': main, 'sub/x': 'deep', link: { link: 'sub/x' } })
    const files = async (runId: string) => {
      const { said } = await planned(server, agent, { configuration: archive, runId })
      const apply = server.submit({ kind: 'apply', runId, configuration: archive })
      await apply.finished
      const seen = apply.log().match(/\d+ \d+ '(?!sub').*$|deep/gm)
      return { said, seen }
    }

    const [first, second] = [await files('run-a'), await files('run-b')]

    expect(first.seen).toHaveLength(4)
    expect(second).toEqual({ said: true, seen: first.seen })
  })

  test.each<[string, Partial<JobInput>]>([
    ['another configuration', { configuration: configuration(ONE_RESOURCE, { 'more.tf': '' }) }],
    ['another workspace', { workspaceId: 'ws-acme-other', workspaceName: 'other' }],
    ['another name of its workspace', { workspaceName: 'renamed' }],
    ['another organization', { organizationId: 'org-other' }],
    ['another working directory', { workingDirectory: 'live' }],
    ['another environment', { variables: [env('PRIVATE', 'other')] }],
    ['a host name more', { hostNames: ['other.example.com'] }],
    ['a log of everything', { options: { debug: true } }],
    ['arguments for init', { variables: [env('TF_CLI_ARGS_init', '-get=true')] }],
    ['a state whose providers nobody knows', { stateProviders: undefined }],
  ])('is initialized with %s', async (_, different) => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const archive = archiveOf({ 'main.tf': ONE_RESOURCE, 'live/main.tf': ONE_RESOURCE })
    const job = { configuration: archive, variables: [env('PRIVATE', 'one')] }
    await planned(server, agent, job)

    const other = await planned(server, agent, { ...job, ...different })
    const same = await planned(server, agent, job)

    expect(other).toMatchObject({ inits: 1, said: false })
    expect(same).toMatchObject({ inits: 0, said: true })
  })

  test('is known by the digest of its archive, under whatever id', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const job = { configuration: ARCHIVE, configurationDigest: createHash('sha256').update(ARCHIVE).digest('hex') }
    await planned(server, agent, { ...job, configurationVersionId: 'cv-a' })

    const other = await planned(server, agent, { ...job, configurationVersionId: 'cv-b' })

    expect(other.inits).toBe(0)
    expect(other.plan.fetches()).toBe(0)
  })

  test('is fetched each time where its archive has another digest than its job says', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const job = { configuration: ARCHIVE, configurationDigest: 'another' }
    await planned(server, agent, job)

    const again = await planned(server, agent, job)

    expect(again).toMatchObject({ inits: 1, outcome: { status: 'finished' } })
    expect(again.plan.fetches()).toBe(1)
  })

  test('of another organization is fetched again', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    await planned(server, agent, { configuration: ARCHIVE })

    const other = await planned(server, agent, { configuration: ARCHIVE, organizationId: 'org-other' })

    expect(other.plan.fetches()).toBe(1)
  })

  test('is initialized and fetched after one that has failed', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const archive = configuration(CHOOSE)
    await planned(server, agent, { configuration: archive })
    const gone = { ...env('path', 'gone.tf'), category: 'terraform' as const }
    const failed = await planned(server, agent, { configuration: archive, variables: [gone] })

    const again = await planned(server, agent, { configuration: archive })

    expect(failed).toMatchObject({ inits: 0, outcome: { status: 'errored' } })
    expect(again).toMatchObject({ inits: 1, outcome: { status: 'finished' } })
    expect(again.plan.fetches()).toBe(1)
  })

  test('gets no file that another one writes', async () => {
    const server = await startServer()
    const spoil = `for file in main.tf .terraform/terraform.tfstate; do echo >> $file; wc -c $file; done`
    const agent = await startNotedAgent(server, {
      concurrency: 2,
      hooks: await hooksFolder({ 'post-plan': spoil }),
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

  test('is initialized and fetched when what was kept is damaged', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    await planned(server, agent, { configuration: ARCHIVE })
    const kept = join(agent.workDir, 'warm')
    for (const name of await readdir(kept)) rmSync(join(kept, name, '0'))

    const again = await planned(server, agent, { configuration: ARCHIVE })
    const third = await planned(server, agent, { configuration: ARCHIVE })

    expect(again).toMatchObject({ inits: 1, said: false, outcome: { status: 'finished' } })
    expect(again.plan.fetches()).toBe(1)
    expect(third).toMatchObject({ inits: 0, said: true, outcome: { status: 'finished' } })
  })

  test('is initialized and fetched where nothing is kept', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server, { warmFolders: false })
    await planned(server, agent, { configuration: ARCHIVE })

    const again = await planned(server, agent, { configuration: ARCHIVE })

    expect(again).toMatchObject({ inits: 1, said: false })
    expect(again.plan.fetches()).toBe(1)
    expect(existsSync(join(agent.workDir, 'warm'))).toBe(false)
  })

  test('is initialized by an agent that has started again, and one whose hook changes the configuration', async () => {
    const server = await startServer()
    const first = await startNotedAgent(server)
    await planned(server, first, { configuration: ARCHIVE })
    first.stop()
    await first.ended
    const hooks = await hooksFolder({ 'pre-plan': 'echo >> main.tf' })
    const agent = await startNotedAgent(server, { workDir: first.workDir, hooks })

    const again = await planned(server, agent, { configuration: ARCHIVE })
    const third = await planned(server, agent, { configuration: ARCHIVE })

    expect([again.inits, third.inits]).toEqual([1, 1])
    expect([again.plan.fetches(), third.plan.fetches()]).toEqual([1, 0])
  })

  test('needs no init for an apply in a folder of its own either, and its log names that', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server, { keepFolders: 0 })
    const { plan } = await planned(server, agent, { configuration: ARCHIVE, runId: 'run-a' })

    const { artifacts } = plan
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: ARCHIVE, artifacts })

    expect(await apply.finished).toMatchObject({ status: 'finished', counts: { additions: 1 } })
    expect(agent.inits()).toBe(1)
    expect(apply.log().split('\n')[3]).toBe(SAID.trim())
    expect(apply.fetches()).toBe(0)
  })

  test.skipIf(process.geteuid?.() !== 0)('has files of its own user, who cannot see what is kept', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const archive = scripted(
      `echo not mine: $(find . ! -user $(id -u) | wc -l); ls ${agent.workDir}/warm && echo GOT IN; true`,
    )
    await planned(server, agent, { configuration: archive })

    const { said, plan } = await planned(server, agent, { configuration: archive })
    const apply = server.submit({ kind: 'apply', runId: plan.runId, configuration: archive })
    await apply.finished

    expect(said).toBe(true)
    expect(apply.log()).toContain('not mine: 0')
    expect(apply.log()).not.toContain('GOT IN')
  })
})
