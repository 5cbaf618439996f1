import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  configuration,
  describeWithTerraform,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'

test('a missing engine path gives a warning', async () => {
  const server = await startServer()

  const agent = await startAgent(server, { enginePath: '/nowhere' })

  await expect
    .poll(() => agent.logged.map(({ message }) => message))
    .toContainEqual(expect.stringContaining('--engine-path /nowhere: there is no such file or directory'))
})

test('an agent without an engine accepts only requests until there is one', async () => {
  vi.stubEnv('PATH', '/nowhere')
  onTestFinished(() => void vi.unstubAllEnvs())
  const server = await startServer()
  const enginePath = await temporaryDirectory()
  const agent = await startAgent(server, { enginePath, waitsForEngine: true, engineScanIntervalMs: 50 })
  await expect.poll(() => server.tasks.claims()).toBe(1)
  await expect.poll(() => server.registrations()).toBeGreaterThan(1)
  expect(server.claims()).toBe(0)
  expect(server.registered[0]?.accepts).toEqual(['task', 'repository', 'policy'])

  await writeFile(join(enginePath, 'tofu'), '#!/bin/sh\necho "OpenTofu v9.9.9"; echo "on linux_amd64"\n', {
    mode: 0o755,
  })

  await expect.poll(() => server.claims(), { timeout: 10_000 }).toBe(1)
  await expect
    .poll(() => server.registered.at(-1), { timeout: 10_000 })
    .toMatchObject({ accepts: ['plan', 'apply', 'task', 'repository', 'policy'], engines: [{ version: '9.9.9' }] })
  expect(agent.logged.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('no run is accepted without one'),
  )
})

test('an agent reports a new engine', async () => {
  const server = await startServer()
  const enginePath = await temporaryDirectory()
  await startAgent(server, { enginePath, engineScanIntervalMs: 50 })
  await expect.poll(() => server.claims()).toBe(1)

  await mkdir(join(enginePath, '9.9.9'))
  await writeFile(join(enginePath, '9.9.9/tofu'), "#!/bin/sh\nprintf 'OpenTofu v9.9.9\\non linux_amd64\\n'\n", {
    mode: 0o755,
  })

  await expect
    .poll(() => server.registered.at(-1), { timeout: 10_000 })
    .toMatchObject({ agentId: 'agent-1', engines: expect.arrayContaining([{ product: 'tofu', version: '9.9.9' }]) })
})

test('an engine that is still being written is found once it is complete', async () => {
  const server = await startServer()
  const enginePath = await temporaryDirectory()
  await writeFile(join(enginePath, 'tofu'), "#!/bin/sh\nprintf 'OpenTofu v9.9.9\\non linux_amd64\\n'\n", {
    mode: 0o755,
  })
  const writing = await open(join(enginePath, 'tofu'), 'r+')
  await startAgent(server, { enginePath, engineScanIntervalMs: 50 })
  await expect.poll(() => server.claims()).toBe(1)
  expect(server.registered.at(-1)?.engines).not.toContainEqual({ product: 'tofu', version: '9.9.9' })

  await writing.close()

  await expect
    .poll(() => server.registered.at(-1)?.engines, { timeout: 10_000 })
    .toContainEqual({ product: 'tofu', version: '9.9.9' })
})

test('a missing engine is named in the outcome', async () => {
  const server = await startServer()
  await startAgent(server)

  const planned = await server.submit({
    configuration: configuration(''),
    engine: { product: 'tofu', version: '1.10.0' },
  }).finished

  expect(planned).toMatchObject({ status: 'errored', message: expect.stringContaining('this agent has no OpenTofu') })
})

describeWithTerraform('an agent', () => {
  test('uses the available engine with a warning unless it is strict', async () => {
    const server = await startServer()
    const lenient = await startAgent(server)
    const job = { configuration: configuration(''), engine: { product: 'terraform', version: '1.2.3' } } as const

    const plan = server.submit(job)
    const planned = await plan.finished
    lenient.stop()
    await lenient.ended
    await startAgent(server, { strictEngineVersion: true })
    const refused = await server.submit(job).finished

    expect(planned.status).toBe('finished')
    expect(plan.log()).toContain('Terraform 1.2.3 is not on this agent: the run uses')
    expect(refused).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('Terraform 1.2.3 is not on this agent'),
    })
  })
})
