import { stat, writeFile } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { VERSION } from '../build.ts'
import { listEngines } from '../engine/engine.ts'
import {
  WAITING,
  describeWithTerraform,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'

test('an agent registers with its properties and engines', async () => {
  const server = await startServer()

  const agent = await startAgent(server, { name: 'rack-7', concurrency: 3, accepts: ['plan', 'task'] })
  await expect.poll(() => server.claims()).toBe(3)

  expect(server.registered).toEqual([
    {
      name: 'rack-7',
      version: VERSION,
      os: platform(),
      arch: arch(),
      concurrency: 3,
      downloadsEngines: false,
      accepts: ['plan', 'task'],
      starts: true,
      engines: await listEngines({ enginePath: undefined, strict: false }),
    },
  ])
  expect(agent.logged[0]).toMatchObject({
    message: `agent ${VERSION} is ready`,
    facts: { name: 'rack-7', pool: 'rack', server: server.url },
  })
})

test('a refused token ends the agent', async () => {
  const server = await startServer()

  const agent = await startAgent(server, { token: 'wrong' })

  await expect(agent.ended).rejects.toThrow('responded with 401')
})

test('a revoked token ends the agent with advice', async () => {
  const server = await startServer()
  const agent = await startAgent(server)
  await expect.poll(() => server.claims()).toBe(1)

  server.refuseAgents(401)

  await expect(agent.ended).rejects.toThrow('it refuses the token. Create a new one for the agent pool')
})

test.each([401, 403, 404, 409])('a %d of a proxy to its claims does not end an agent', async (status) => {
  const server = await startServer()
  const refused = { claim: 0, 'claim-task': 0 }
  server.refuse(({ verb }) => {
    if (verb !== 'claim' && verb !== 'claim-task') return undefined
    return (refused[verb] += 1) < 3 ? status : undefined
  })

  const agent = await startAgent(server)

  await expect.poll(() => [server.claims(), server.tasks.claims()]).toEqual([1, 1])
  expect(server.registrations()).toBe(1)
  expect(agent.logged.filter(({ level }) => level === 'error')).toEqual([])
})

test('a 401 of a proxy to a later registration does not end an agent', async () => {
  const server = await startServer()
  let introductions = 0
  server.refuse(({ verb }) => (verb === 'register' && (introductions += 1) === 2 ? 401 : undefined))
  await startAgent(server, { retryDelayMs: 20, engineScanIntervalMs: 20 })
  await expect.poll(() => server.claims()).toBe(1)

  server.refuseAgents(409, 'forgotten')
  await expect.poll(() => introductions).toBeGreaterThan(1)
  server.refuseAgents(undefined)

  await expect.poll(() => server.claims()).toBe(1)
})

test('a token that is rejected for run tasks ends the agent with the same message', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { accepts: ['task'] })
  await expect.poll(() => server.tasks.claims()).toBe(1)

  server.refuseAgents(401)
  server.tasks.endClaims()

  await expect(agent.ended).rejects.toThrow('it refuses the token. Create a new one for the agent pool')
})

test('an agent that exceeds the limit of the plan retries, and logs the reason once', async () => {
  const server = await startServer()
  server.refuseAgents(422, 'the organization acme has the free plan')
  const agent = await startAgent(server, { retryDelayMs: 20, engineScanIntervalMs: 20 })
  const refusals = () => agent.logged.filter(({ message }) => message.includes('refuses this agent'))
  await expect.poll(refusals).toHaveLength(1)
  await delay(200)

  server.refuseAgents(undefined)

  await expect.poll(() => server.claims()).toBe(1)
  expect(refusals()).toEqual([
    expect.objectContaining({
      level: 'warn',
      facts: expect.objectContaining({
        reason: 'the server responded to POST /register with 422: the organization acme has the free plan',
      }),
    }),
  ])
})

test('an agent that is lost and then rejected logs that once, and registers again', async () => {
  const server = await startServer()
  const agent = await startAgent(server, {
    retryDelayMs: 20,
    engineScanIntervalMs: 20,
    accepts: ['plan', 'task'],
    concurrency: 2,
  })
  await expect.poll(() => server.claims()).toBe(2)
  const messages = () => agent.logged.map(({ message }) => message)

  server.refuseAgents(409, 'later')
  server.tasks.endClaims()
  await delay(200)
  server.refuseAgents(undefined)

  await expect.poll(messages, { timeout: 5_000 }).toContain('the server accepts this agent again')
  expect(messages().filter((message) => message.includes('refuses this agent'))).toHaveLength(1)
})

test('a restarted agent sends its former id to the same server', async () => {
  const server = await startServer()
  const other = await startServer()
  const first = await startAgent(server)
  await expect.poll(() => server.claims()).toBe(1)
  const { workDir } = first
  const { mode } = await stat(join(workDir, 'registration.json'))
  first.stop()
  await first.ended

  const again = await startAgent(server, { workDir })
  await expect.poll(() => server.registrations()).toBe(2)
  again.stop()
  await again.ended
  await startAgent(other, { workDir })
  await expect.poll(() => other.registrations()).toBe(1)

  expect(mode & 0o777).toBe(0o600)
  expect(server.registered[0]).toMatchObject({ starts: true })
  expect(server.registered[0]).not.toHaveProperty('agentId')
  expect(server.registered[0]).not.toHaveProperty('formerTokenId')
  expect(server.registered[1]).toMatchObject({ agentId: 'agent-1', formerTokenId: 'at-1', starts: true })
  expect(other.registered[0]).not.toHaveProperty('agentId')
})

test('an agent whose stored id is unreadable starts without one', async () => {
  const server = await startServer()
  const workDir = await temporaryDirectory()
  await writeFile(join(workDir, 'registration.json'), '{"agentId":')

  await startAgent(server, { workDir })

  await expect.poll(() => server.claims()).toBe(1)
  expect(server.registered[0]).not.toHaveProperty('agentId')
})

describeWithTerraform('an agent', () => {
  test('sends registrations while all its slots are busy', async () => {
    const server = await startServer()
    const agent = await startAgent(server, { engineScanIntervalMs: 50 })
    await expect.poll(() => server.claims()).toBe(1)
    const before = server.registrations()
    await server.submit({ runId: 'run-a', configuration: WAITING }).finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: WAITING })
    await apply.logged(/pid=\d/)

    await expect.poll(() => server.registrations()).toBeGreaterThan(before)

    expect(server.registered.at(-1)).toMatchObject({ agentId: 'agent-1' })
    agent.stop()
    agent.forceStop()
  })
})
