import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  WAITING,
  configuration,
  describeWithTerraform,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'
import { processIsAlive } from '../testing/processes.ts'
import { AGENT_TOKEN } from '../testing/protocol-server.ts'

test('an agent for a single job ends after it, even if the job failed', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { single: true })
  const job = server.submit({ configuration: configuration(''), engine: { product: 'tofu', version: '1.0.0' } })

  expect((await job.finished).status).toBe('errored')
  await agent.ended

  expect(server.claims()).toBe(0)
  const run = { kind: 'plan', workspace: 'acme/net' }
  expect(agent.logged).toContainEqual({ level: 'info', message: 'job claimed', facts: run })
  expect(agent.logged).toContainEqual({
    level: 'info',
    message: 'job ended',
    facts: { ...run, status: 'errored', reason: expect.stringContaining('this agent has no OpenTofu') },
  })
  expect(agent.logged.filter(({ level }) => level === 'error')).toEqual([])
})

test('an agent without work ends after its idle time', async () => {
  const server = await startServer()

  const agent = await startAgent(server, { idleTimeoutMs: 100 })

  await agent.ended
  expect(server.registrations()).toBe(1)
})

test('an agent that stops without work ends immediately', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { concurrency: 2 })
  await expect.poll(() => server.claims()).toBe(2)

  agent.stop()

  await agent.ended
})

describeWithTerraform('an agent', () => {
  test('as a process exits after SIGTERM', async () => {
    const server = await startServer()
    const env = {
      PATH: process.env['PATH'],
      GROUNDSTATE_URL: server.url,
      GROUNDSTATE_AGENT_TOKEN: AGENT_TOKEN,
      GROUNDSTATE_WORK_DIR: await temporaryDirectory(),
    }
    const agent = spawn(process.execPath, [join(import.meta.dirname, '../../bin/groundstate-agent.mjs')], {
      env,
      stdio: 'ignore',
    })
    await expect.poll(() => server.claims(), { timeout: 5_000 }).toBeGreaterThan(0)

    agent.kill('SIGTERM')
    const [code] = await once(agent, 'exit')

    expect(code).toBe(0)
  })

  test('that is killed leaves no engine and no process of it', async () => {
    const server = await startServer()
    const env = {
      PATH: process.env['PATH'],
      GROUNDSTATE_URL: server.url,
      GROUNDSTATE_AGENT_TOKEN: AGENT_TOKEN,
      GROUNDSTATE_WORK_DIR: await temporaryDirectory(),
    }
    const script = join(import.meta.dirname, '../../bin/groundstate-agent.mjs')
    const agent = spawn(process.execPath, [script], { env, stdio: 'ignore' })
    onTestFinished(() => void agent.kill('SIGKILL'))
    await server.submit({ runId: 'run-a', configuration: WAITING }).finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: WAITING })
    await apply.logged(/pid=\d/)
    const pid = Number(/pid=(\d+)/.exec(apply.log())?.[1])
    const engine = Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(' ')[3])

    agent.kill('SIGKILL')
    await once(agent, 'exit')

    await expect.poll(() => [pid, engine].filter(processIsAlive)).toEqual([])
  })
})
