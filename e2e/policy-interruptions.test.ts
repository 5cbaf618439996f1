import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { testOpa } from '../agent/src/testing/opa.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { bootAgent } from './agent.ts'
import { policySet } from './policy-sets.ts'
import { agentPool, remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, until, untilRunIs } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'
import { hasTerraform } from './terraform.ts'

/** OPA whose evaluations wait until `open` is called. */
async function gatedOpa() {
  const parent = await mkdtemp(join(tmpdir(), 'groundstate-gate-'))
  atEnd(async () => rm(parent, { recursive: true, force: true }))
  await chmod(parent, 0o755)
  // Agents remove what a run leaves in a directory of /tmp that every user may write.
  const signs = join(parent, 'signs')
  await mkdir(signs)
  await chmod(signs, 0o777)
  const [started, gate] = [join(signs, 'started'), join(parent, 'gate')]
  await writeFile(started, '')
  await chmod(started, 0o666)
  const path = join(parent, 'opa')
  const script = `#!/bin/sh
if [ "$1" = eval ]; then
  echo $$ >> ${started}
  while [ ! -e ${gate} ]; do sleep 0.05; done
fi
exec ${testOpa().path} "$@"
`
  await writeFile(path, script, { mode: 0o755 })
  /** The process ids of evaluations. */
  const pids = () => readFileSync(started, 'utf8').split('\n').filter(Boolean).map(Number)
  return {
    settings: { GROUNDSTATE_OPA_PATH: path },
    pids,
    started: async () => until(async () => pids()[0]),
    open: async () => writeFile(gate, ''),
  }
}

const isRunning = (pid: number) => existsSync(`/proc/${pid}`)

async function workDirectory() {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-e2e-agent-'))
  atEnd(async () => rm(directory, { recursive: true, force: true }))
  return directory
}

/** An auto-applied run whose advisory policy fails. */
async function governedRun(server: BootedServer, attributes: object = {}) {
  await policySet(server, {
    name: 'rules',
    policies: [{ name: 'rules', level: 'advisory', code: 'deny contains input.run.workspace.name if true' }],
  })
  const workspace = await remoteWorkspace(server, {
    name: 'governed',
    configuration: 'resource "terraform_data" "a" {}\n',
    attributes,
  })
  return startRun(server, workspace)
}

async function untilApplied(server: BootedServer, run: string) {
  return untilRunIs(server, async () => readRun(server, run), 'applied')
}

async function evaluationOf(server: BootedServer, run: string) {
  const [stage] = (await server.api('GET', `/runs/${run}/task-stages`)).data
  const evaluations = (await server.api('GET', `/task-stages/${stage.id}/policy-evaluations`)).data
  const outcomes = (await server.api('GET', `/policy-evaluations/${evaluations[0].id}/policy-set-outcomes`)).data
  return { count: evaluations.length, status: evaluations[0].attributes.status, outcomes }
}

const EVALUATED = {
  count: 1,
  status: 'passed',
  outcomes: [expect.objectContaining({ attributes: expect.objectContaining({ 'policy-set-name': 'rules' }) })],
}

describe.skipIf(!hasTerraform).concurrent('an interrupted evaluation of policies', () => {
  test('of a killed agent is repeated by another one, and its OPA has ended', async () => {
    const server = await bootServer({ GROUNDSTATE_AGENTS: '0' })
    const { id, token } = await agentPool(server, 'elsewhere')
    const { settings, started, pids, open } = await gatedOpa()
    const boot = async (name: string) =>
      bootAgent({ url: server.url, token, name, workDir: await workDirectory(), settings })
    const agent = await boot('first')
    const run = await governedRun(server, { 'execution-mode': 'agent', 'agent-pool-id': id })
    const pid = await started()

    await agent.stop('SIGKILL')
    await until(async () => !isRunning(pid))
    await open()
    await boot('second')
    await untilApplied(server, run)

    expect(pids()).toHaveLength(2)
    expect(await evaluationOf(server, run)).toMatchObject(EVALUATED)
  })

  test('is reported by its agent to the next server after the first was killed', async () => {
    const server = await bootServer({ GROUNDSTATE_AGENTS: '0' })
    const { id, token } = await agentPool(server, 'elsewhere')
    const { settings, started, pids, open } = await gatedOpa()
    bootAgent({ url: server.url, token, name: 'agent', workDir: await workDirectory(), settings })
    const run = await governedRun(server, { 'execution-mode': 'agent', 'agent-pool-id': id })
    await started()

    await server.stop('SIGKILL')
    await open()
    await server.restart()
    await untilApplied(server, run)

    expect(pids()).toHaveLength(1)
    expect(await evaluationOf(server, run)).toMatchObject(EVALUATED)
  })

  test('of the built-in agent is repeated after the server was killed, and its OPA has ended', async () => {
    const { settings, started, pids, open } = await gatedOpa()
    const server = await bootServer(settings)
    const run = await governedRun(server)
    const pid = await started()

    await server.stop('SIGKILL')
    await until(async () => !isRunning(pid))
    await open()
    await server.restart()
    await untilApplied(server, run)

    expect(pids()).toHaveLength(2)
    expect(await evaluationOf(server, run)).toMatchObject(EVALUATED)
  })

  test('that has just ended continues its run after the server was killed', async () => {
    const server = await bootServer({ GROUNDSTATE_AGENTS: '0' })
    const { id, token } = await agentPool(server, 'elsewhere')
    const { settings, started, open } = await gatedOpa()
    bootAgent({ url: server.url, token, name: 'agent', workDir: await workDirectory(), settings })
    const run = await governedRun(server, { 'execution-mode': 'agent', 'agent-pool-id': id })
    await started()
    const stages = `/runs/${run}/task-stages`

    await open()
    await until(async () => (await server.api('GET', stages)).data[0].attributes.status !== 'running')
    await server.stop('SIGKILL')
    await server.restart()
    await untilApplied(server, run)

    expect(await evaluationOf(server, run)).toMatchObject(EVALUATED)
  })
})
