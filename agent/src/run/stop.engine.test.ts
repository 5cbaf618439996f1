import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  configuration,
  describeWithTerraform,
  pidIn,
  startAgent,
  startServer,
  startSlowApply,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'
import { parentOf, processIsAlive } from '../testing/processes.ts'

/** An engine that ignores SIGINT. */
async function deafEngine(): Promise<string> {
  const path = join(await temporaryDirectory(), 'terraform')
  await writeFile(
    path,
    `#!/bin/sh
case $1 in
  version) printf 'Terraform v9.9.9\\non linux_amd64\\n' ;;
  plan) trap '' INT; echo "pid=$$"; while :; do sleep 300; done ;;
esac
`,
  )
  await chmod(path, 0o755)
  return path
}

async function startApply(job: Parameters<typeof startSlowApply>[1] = {}) {
  const server = await startServer()
  const agent = await startAgent(server)
  return { server, agent, ...(await startSlowApply(server, job)) }
}

async function startDeafPlan(job: { graceMs?: number } = {}) {
  const server = await startServer()
  const agent = await startAgent(server, { enginePath: await deafEngine() })
  const plan = server.submit({ configuration: configuration(''), ...job })
  await plan.logged(/pid=\d/)
  return { server, agent, plan, pid: pidIn(plan.log()) }
}

describeWithTerraform('an apply', () => {
  test('whose engine was killed by another process fails with a log and an error', async () => {
    const { apply, pid } = await startApply()

    process.kill(parentOf(pid), 'SIGKILL')

    const message = 'terraform apply was ended by the signal SIGKILL (out of memory?)'
    expect(await apply.finished).toMatchObject({ status: 'errored', message })
    expect(apply.log()).toContain(`\nError: ${message}\n`)
  })

  test('that is canceled stores the state', async () => {
    const { server, apply, pid } = await startApply()

    apply.command('cancel')
    const applied = await apply.finished

    expect(applied).toMatchObject({ status: 'canceled', exitCode: 1 })
    expect(server.api.current()?.resources.map(({ name }) => name)).toContain('first')
    expect(apply.log()).toContain('Interrupt received')
    expect(processIsAlive(pid)).toBe(false)
  })

  test('that is force-canceled ends immediately, with all its processes', async () => {
    const { apply, pid } = await startApply()

    apply.command('force-cancel')
    const applied = await apply.finished

    expect(applied).toMatchObject({ status: 'canceled' })
    expect(apply.log()).toContain('force-canceled')
    await expect.poll(() => processIsAlive(pid)).toBe(false)
  })

  test('that exceeds its time limit is interrupted with a message', async () => {
    const { server, apply } = await startApply({ timeLimitMs: 3_000 })

    const applied = await apply.finished

    expect(applied).toMatchObject({ status: 'errored', message: expect.stringContaining('time limit of 3 s') })
    expect(apply.log()).toContain('time limit of 3 s')
    expect(server.api.current()?.resources.map(({ name }) => name)).toContain('first')
  })

  test('whose lease is lost is ended', async () => {
    const { agent, apply, pid } = await startApply()

    apply.loseLease()

    await expect.poll(() => processIsAlive(pid)).toBe(false)
    await expect
      .poll(() => agent.logged)
      .toContainEqual(expect.objectContaining({ message: expect.stringContaining('job dropped') }))
  })

  test('is ended when the server is unreachable for longer than its lease', async () => {
    const { server, pid } = await startApply({ leaseMs: 500, graceMs: 500 })

    await server.pause()

    await expect.poll(() => processIsAlive(pid)).toBe(false)
    await server.resume()
  })

  test('whose agent shuts down is interrupted and stores its state', async () => {
    const { server, agent, apply } = await startApply()

    agent.stop()
    agent.forceStop()
    const applied = await apply.finished
    await agent.ended

    expect(applied).toMatchObject({ status: 'errored', message: expect.stringContaining('shutting down') })
    expect(server.api.current()?.resources.map(({ name }) => name)).toContain('first')
  })
})

test('an engine that was killed by another process fails with a log and an error', async () => {
  const { plan, pid } = await startDeafPlan()

  process.kill(pid, 'SIGKILL')

  const message = 'terraform plan was ended by the signal SIGKILL (out of memory?)'
  expect(await plan.finished).toMatchObject({ status: 'errored', exitCode: null, message })
  expect(plan.log()).toContain(`\nError: ${message}\n`)
})

test('a canceled engine that ignores interrupts is killed after its grace period', async () => {
  const { plan, pid } = await startDeafPlan({ graceMs: 300 })

  plan.command('cancel')
  const planned = await plan.finished

  expect(planned).toMatchObject({ status: 'canceled', exitCode: null })
  expect(processIsAlive(pid)).toBe(false)
})

test('a cancel can be followed by a force-cancel', async () => {
  const { plan, pid } = await startDeafPlan({ graceMs: 60_000 })

  plan.command('cancel')
  await plan.logged(/was canceled/)
  plan.command('force-cancel')
  const planned = await plan.finished

  expect(planned).toMatchObject({ status: 'canceled', message: expect.stringContaining('force-canceled') })
  expect(processIsAlive(pid)).toBe(false)
})

test('a plan that exceeds its time limit and ignores interrupts is killed', async () => {
  const server = await startServer()
  await startAgent(server, { enginePath: await deafEngine() })
  const plan = server.submit({ configuration: configuration(''), timeLimitMs: 500, graceMs: 200 })

  const planned = await plan.finished

  expect(planned).toMatchObject({ status: 'errored', message: 'The plan took longer than its time limit of 0.5 s.' })
})

test('a plan whose lease is lost is killed', async () => {
  const { plan, pid } = await startDeafPlan({ graceMs: 60_000 })

  plan.loseLease()

  await expect.poll(() => processIsAlive(pid)).toBe(false)
})

test('a stopping agent lets its jobs finish and accepts no more', async () => {
  const { server, agent, plan } = await startDeafPlan({ graceMs: 200 })

  agent.stop()
  const later = server.submit({ configuration: configuration('') })
  plan.command('cancel')
  await plan.finished
  await agent.ended

  expect(later.log()).toBe('')
})

test('an agent whose token is revoked lets its jobs finish, and ends with an error', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { enginePath: await deafEngine(), concurrency: 2, drainTimeoutMs: 1 })
  const plan = server.submit({ configuration: configuration(''), graceMs: 200 })
  await plan.logged(/pid=\d/)
  await expect.poll(() => server.claims()).toBe(1)

  server.revokeToken()
  const later = server.submit({ configuration: configuration('') })
  await expect.poll(() => server.claims()).toBe(0)
  plan.command('cancel')
  const planned = await plan.finished

  expect(planned).toMatchObject({ status: 'canceled' })
  await expect(agent.ended).rejects.toThrow('it refuses the token')
  expect(later.log()).toBe('')
})

test('an agent that shuts down requeues its plans', async () => {
  const { agent, plan, pid } = await startDeafPlan({ graceMs: 60_000 })

  agent.stop()
  agent.forceStop()
  await plan.released
  await agent.ended

  expect(processIsAlive(pid)).toBe(false)
})
