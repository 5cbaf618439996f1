import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  configuration,
  describeWithTerraform,
  pidIn,
  startAgent,
  startServer,
  startSlowApply,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'
import { kill, spawnAgent } from '../testing/agent-process.ts'
import { identityFiles, identityOf, tokenOf } from '../testing/identity.ts'
import { processIsAlive } from '../testing/processes.ts'
import type { JobInput } from '../testing/protocol-job.ts'
import type { ProtocolServer } from '../testing/protocol-server.ts'

/** An engine with a long plan and apply. An interrupted apply leaves a state that it could not store. */
async function slowEngine(delay = 'true'): Promise<string> {
  const path = join(await temporaryDirectory(), 'terraform')
  const script = `#!/bin/sh
case $1 in
  version) printf 'Terraform v9.9.9\\non linux_amd64\\n' ;;
  plan) echo "pid=$$"; exec sleep 300 ;;
  apply)
    trap 'echo interrupted once; ${delay}; echo not stored; echo kept > errored.tfstate; exit 1' INT
    echo "pid=$$"
    while :; do sleep 0.1; done ;;
esac
`
  await writeFile(path, script, { mode: 0o755 })
  return path
}

/** An apply of another agent's plan. */
async function startColdApply(server: ProtocolServer, job: Partial<JobInput> = {}) {
  const artifacts = new Map([['plan-file' as const, Buffer.from('plan')]])
  const apply = server.submit({ kind: 'apply', configuration: configuration(''), artifacts, ...job })
  await apply.logged(/pid=\d/)
  return { apply, pid: pidIn(apply.log()) }
}

const namesOf = (state: { resources: { name: string }[] } | undefined) => state?.resources.map(({ name }) => name)

describeWithTerraform('an apply whose server is unreachable for longer than its lease', () => {
  test('is interrupted; its log, the state that it could not store and its outcome arrive later', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)
    const { apply, pid } = await startSlowApply(server, { leaseMs: 2_000 })

    await server.pause()
    await expect.poll(() => processIsAlive(pid)).toBe(false)
    apply.giveUp()
    await server.resume()
    const applied = await apply.finished

    expect(applied).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('could not be reached for 2 s'),
    })
    expect(apply.log()).toMatch(/could not be reached[^]*Interrupt received/)
    expect(namesOf(JSON.parse(String(apply.artifacts.get('errored-state'))))).toContain('first')
    await expect.poll(() => readdir(join(workDir, 'jobs'))).toEqual([])
  }, 60_000)

  test('is interrupted if the server has abandoned it, and still reports', async () => {
    const server = await startServer()
    await startAgent(server)
    const { apply } = await startSlowApply(server)

    apply.giveUp()

    expect(await apply.finished).toMatchObject({
      status: 'errored',
      message: 'The apply was interrupted: the server abandoned it, since no heartbeat reached it in time.',
    })
    expect(apply.artifacts.has('errored-state')).toBe(true)
  }, 60_000)
})

test('an apply whose agent exits while the server is down is reported by the next agent in the directory', async () => {
  const server = await startServer()
  const enginePath = await slowEngine()
  const { workDir, forceStop, stop, ended, logged } = await startAgent(server, { enginePath })
  const { apply, pid } = await startColdApply(server, { leaseMs: 2_000 })
  await server.pause()
  await expect.poll(() => processIsAlive(pid)).toBe(false)
  stop()
  forceStop()
  await ended
  await server.resume()

  await startAgent(server, { workDir, enginePath })
  const applied = await apply.finished

  expect(logged.map(({ message }) => message)).toContainEqual(expect.stringContaining('report it after its next start'))
  expect(applied).toMatchObject({ status: 'errored', message: expect.stringContaining('could not be reached') })
  expect(apply.log()).toContain('not stored')
  expect(String(apply.artifacts.get('errored-state'))).toContain('kept')
}, 60_000)

test('a plan whose server is unreachable for longer than its lease is killed, and requeued when the server is back', async () => {
  const server = await startServer()
  await startAgent(server, { enginePath: await slowEngine() })
  const plan = server.submit({ configuration: configuration(''), leaseMs: 2_000 })
  await plan.logged(/pid=\d/)
  const pid = pidIn(plan.log())

  await server.pause()
  await expect.poll(() => processIsAlive(pid)).toBe(false)
  await server.resume()

  await plan.released
})

test('an agent that exits without work waits for an engine left by its predecessor', async () => {
  const server = await startServer()
  const env = { GROUNDSTATE_ENGINE_PATH: await slowEngine('sleep 10') }
  const workDir = await temporaryDirectory()
  const agent = spawnAgent(server, workDir, env)
  const { apply } = await startColdApply(server)
  await kill(agent)

  const next = spawnAgent(server, workDir, { ...env, GROUNDSTATE_AGENT_IDLE_TIMEOUT: '1' })
  await once(next, 'exit')

  expect(String(apply.artifacts.get('errored-state'))).toContain('kept')
  expect(await readdir(join(workDir, 'jobs'))).toEqual([])
}, 60_000)

describeWithTerraform('an agent that was killed', () => {
  test('in an apply leaves an engine that stores its state; the next agent reports the outcome', async () => {
    const server = await startServer()
    const workDir = await temporaryDirectory()
    const agent = spawnAgent(server, workDir)
    const { apply, pid } = await startSlowApply(server)
    await kill(agent)
    await expect.poll(() => processIsAlive(pid)).toBe(false)

    spawnAgent(server, workDir)
    const applied = await apply.finished

    expect(applied).toMatchObject({
      status: 'errored',
      exitCode: 1,
      message:
        'The agent was killed during the apply, and the engine was interrupted. The engine stored the state that it had reached.',
    })
    // The order of the two streams varies, as does further output.
    for (const line of ['pid=', 'Interrupt received']) expect(apply.log()).toContain(line)
    expect(namesOf(server.api.current())).toContain('first')
    await expect.poll(() => readdir(join(workDir, 'jobs'))).toEqual([])
    expect(await readdir(join(workDir, 'runs'))).toEqual([])
  }, 60_000)
})

describe('an agent that was killed', () => {
  test('while its server was unreachable leaves the state for the next agent to report', async () => {
    const server = await startServer()
    const workDir = await temporaryDirectory()
    const env = { GROUNDSTATE_ENGINE_PATH: await slowEngine() }
    const agent = spawnAgent(server, workDir, env)
    const { apply, pid } = await startColdApply(server)
    await server.pause()

    await kill(agent)
    await expect.poll(() => processIsAlive(pid)).toBe(false)
    await server.resume()
    spawnAgent(server, workDir, env)
    const applied = await apply.finished

    expect(applied).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('download it as the errored state'),
    })
    expect(apply.log()).toContain('not stored')
    expect(String(apply.artifacts.get('errored-state'))).toContain('kept')
  }, 60_000)

  test('does not interrupt an engine twice', async () => {
    const server = await startServer()
    const workDir = await temporaryDirectory()
    const env = { GROUNDSTATE_ENGINE_PATH: await slowEngine('sleep 3') }
    const agent = spawnAgent(server, workDir, env)
    const { apply } = await startColdApply(server, { graceMs: 60_000 })
    apply.command('cancel')
    await apply.logged(/interrupted once/)

    await kill(agent)
    spawnAgent(server, workDir, env)
    await apply.finished

    expect(apply.log()).toContain('not stored')
    expect(apply.log().match(/interrupted once/g)).toHaveLength(1)
  }, 60_000)

  test('leaves an engine whose output is limited', async () => {
    const server = await startServer()
    const workDir = await temporaryDirectory()
    const env = { GROUNDSTATE_ENGINE_PATH: await slowEngine('head -c 80000000 /dev/zero | tr "\\0" x') }
    const agent = spawnAgent(server, workDir, env)
    const { apply } = await startColdApply(server)

    await kill(agent)
    spawnAgent(server, workDir, env)
    await apply.finished

    expect(apply.log().length).toBeLessThan(64 * 1024 ** 2 + 200)
    expect(apply.log().slice(-100)).toContain('The log is cut off here: it is longer than 67108864 bytes.')
  }, 60_000)

  test('leaves no token in the log, although its engine has printed it', async () => {
    const server = await startServer()
    const workDir = await temporaryDirectory()
    const env = { GROUNDSTATE_ENGINE_PATH: await slowEngine('echo mine: $TFC_WORKLOAD_IDENTITY_TOKEN.') }
    const agent = spawnAgent(server, workDir, env)
    const identity = identityOf({ TFC_WORKLOAD_IDENTITY_AUDIENCE: 'other' }, 'apply')
    const { apply } = await startColdApply(server, identity)

    await kill(agent)
    spawnAgent(server, workDir, env)
    await apply.finished

    expect(apply.log()).toContain(`mine: ${'*'.repeat(tokenOf('other', 'apply').length)}.`)
    expect(await identityFiles(workDir)).toEqual([])
  }, 60_000)

  test('leaves no token in the log, although its run has changed the files with tokens', async () => {
    const server = await startServer()
    const workDir = await temporaryDirectory()
    const changes = `echo mine: $TFC_WORKLOAD_IDENTITY_TOKEN.
      cd ../variables/identity; echo $TFC_WORKLOAD_IDENTITY_TOKEN_DB
      printf a > tfc-token; truncate -s 3G tfc-token-DB; cd "$OLDPWD"
      head -c 8000000 /dev/zero | tr "\\0" a`
    const env = { GROUNDSTATE_ENGINE_PATH: await slowEngine(changes.replaceAll('\n', ';')) }
    const agent = spawnAgent(server, workDir, env)
    const audiences = { TFC_WORKLOAD_IDENTITY_AUDIENCE: 'other', TFC_WORKLOAD_IDENTITY_AUDIENCE_DB: 'database' }
    const { apply } = await startColdApply(server, identityOf(audiences, 'apply'))

    await kill(agent)
    spawnAgent(server, workDir, env)
    const applied = await apply.finished

    expect(applied).toMatchObject({ status: 'errored', message: expect.stringContaining('the engine was interrupted') })
    expect(apply.log()).toContain(`mine: ${'*'.repeat(tokenOf('other', 'apply').length)}.`)
    expect(apply.log()).not.toContain('jwt.')
    expect(apply.log().includes('a'.repeat(8_000_000))).toBe(true)
    expect(await identityFiles(workDir)).toEqual([])
  }, 60_000)

  test('reports an apply without its log if it cannot remove tokens from it', async () => {
    const server = await startServer()
    const workDir = await temporaryDirectory()
    const env = { GROUNDSTATE_ENGINE_PATH: await slowEngine('echo mine: $TFC_WORKLOAD_IDENTITY_TOKEN.') }
    const agent = spawnAgent(server, workDir, env)
    const identity = identityOf({ TFC_WORKLOAD_IDENTITY_AUDIENCE: 'other' }, 'apply')
    const { apply } = await startColdApply(server, identity)
    await kill(agent)
    const [name = ''] = await readdir(join(workDir, 'jobs'))
    await writeFile(join(workDir, 'jobs', name, 'tokens.json'), '["')

    spawnAgent(server, workDir, env)
    const applied = await apply.finished

    expect(applied).toMatchObject({
      status: 'errored',
      message: expect.stringMatching(
        /the engine was interrupted[^]*\nThe rest of the log is left out: it may contain tokens/,
      ),
    })
    expect(apply.log()).not.toContain('mine:')
    expect(String(apply.artifacts.get('errored-state'))).toContain('kept')
    expect(await identityFiles(workDir)).toEqual([])
  }, 60_000)

  test('in a plan requeues it after a restart', async () => {
    const server = await startServer()
    const workDir = await temporaryDirectory()
    const env = { GROUNDSTATE_ENGINE_PATH: await slowEngine() }
    const agent = spawnAgent(server, workDir, env)
    const plan = server.submit({ configuration: configuration('') })
    await plan.logged(/pid=\d/)
    const pid = pidIn(plan.log())

    await kill(agent)
    await expect.poll(() => processIsAlive(pid)).toBe(false)
    spawnAgent(server, workDir, env)

    await plan.released
    await expect.poll(() => readdir(join(workDir, 'jobs'))).toEqual([])
  }, 60_000)
})
