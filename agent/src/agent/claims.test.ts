import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VERSION } from '../build.ts'
import { ONE_RESOURCE, configuration, startAgent, startServer, temporaryDirectory } from '../testing/agent-fixture.ts'

test('each free slot has a pending claim', async () => {
  const server = await startServer()

  await startAgent(server, { concurrency: 3 })

  await expect.poll(() => server.claims()).toBe(3)
})

test('an agent that accepts no runs claims none, and runs until it is stopped', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { accepts: ['task'] })
  await expect.poll(() => agent.logged.map(({ message }) => message)).toContain(`agent ${VERSION} is ready`)

  expect(server.claims()).toBe(0)
  agent.stop()
  await agent.ended
  expect(server.deregistered).toEqual(['agent-1'])
})

test('a job that arrives during the shutdown is requeued', async () => {
  const server = await startServer()
  const agent = await startAgent(server)
  await expect.poll(() => server.claims()).toBe(1)

  agent.stop()
  const job = server.submit({ configuration: configuration('') })

  await job.released
  await agent.ended
})

test('a job that was requeued before its acknowledgement does not begin', async () => {
  const server = await startServer()
  const workDir = await temporaryDirectory()
  const agent = await startAgent(server, { workDir })
  await expect.poll(() => server.claims()).toBe(1)
  const job = server.submit({ kind: 'apply', configuration: configuration(ONE_RESOURCE) })
  job.loseLease()
  const says = () => agent.logged.some(({ message }) => message === 'job not started: it was not acknowledged')

  await expect.poll(says).toBe(true)

  // After a delay, since the reason for the missing acknowledgement may persist.
  await expect.poll(() => server.claims(), { timeout: 5_000 }).toBe(1)
  expect(job.log()).toBe('')
  expect(await readdir(join(workDir, 'jobs'))).toEqual([])
})
