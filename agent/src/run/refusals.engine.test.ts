import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configuration, startAgent, startServer, temporaryDirectory } from '../testing/agent-fixture.ts'

/** An engine with a slow, verbose apply that fails to store its state on request. */
async function chattyEngine({ keepsState = false, seconds = 0 } = {}) {
  const path = join(await temporaryDirectory(), 'terraform')
  const end = keepsState
    ? 'echo kept > errored.tfstate; exit 1'
    : "echo 'Apply complete! Resources: 1 added, 0 changed, 0 destroyed.'"
  const script = `#!/bin/sh
case $1 in
  version) printf 'Terraform v9.9.9\\non linux_amd64\\n' ;;
  apply) seq 1 20000; sleep ${seconds}; ${end} ;;
esac
`
  await writeFile(path, script, { mode: 0o755 })
  return path
}

const tellsOutcome = (verb: string) => ['finish', 'result'].includes(verb)

const coldApply = () => ({
  kind: 'apply' as const,
  configuration: configuration(''),
  artifacts: new Map([['plan-file' as const, Buffer.from('plan')]]),
})

test('an apply succeeds behind a proxy that rejects large bodies, and temporarily heartbeats and the outcome', async () => {
  const server = await startServer()
  let [beats, outcomes] = [0, 0]
  server.refuse(({ verb, body }) => {
    if (['log', 'result'].includes(verb) && body.length > 16_384) return 413
    if (verb === 'heartbeat' && (beats += 1) === 2) return 404
    return tellsOutcome(verb) && (outcomes += 1) === 1 ? 403 : undefined
  })
  await startAgent(server, { enginePath: await chattyEngine() })

  const apply = server.submit({ ...coldApply(), leaseMs: 3_000 })

  expect(await apply.finished).toMatchObject({ status: 'finished' })
  expect(apply.log()).toMatch(/\n1\n2\n3\n[^]*\n20000\nApply complete/)
  expect(outcomes).toBe(2)
})

test.each([401, 409])('a %d of a proxy does not count as the response of the server', async (status) => {
  const server = await startServer()
  let [beats, outcomes] = [0, 0]
  server.refuse(({ verb }) => {
    const isRefused = (verb === 'heartbeat' && (beats += 1) === 2) || (tellsOutcome(verb) && (outcomes += 1) === 1)
    return isRefused ? status : undefined
  })
  await startAgent(server, { enginePath: await chattyEngine({ seconds: 1 }) })

  const apply = server.submit({ ...coldApply(), leaseMs: 6_000 })

  expect(await apply.finished).toMatchObject({ status: 'finished' })
  expect(beats).toBeGreaterThan(1)
})

test('a rejected outcome is retried without blocking other jobs', async () => {
  const server = await startServer()
  let isRefused = true
  server.refuse(({ verb }) => (isRefused && tellsOutcome(verb) ? 403 : undefined))
  const { workDir, logged } = await startAgent(server, { enginePath: await chattyEngine() })

  const apply = server.submit(coldApply())
  await expect
    .poll(() => logged.map(({ message }) => message), { timeout: 45_000 })
    .toContain('outcome of an apply rejected: retrying while this agent runs')
  await expect.poll(() => server.claims()).toBe(1)
  isRefused = false

  expect(await apply.finished).toMatchObject({ status: 'finished' })
  expect(apply.log()).toMatch(/\n20000\nApply complete[^\n]*\n$/)
  await expect.poll(() => readdir(join(workDir, 'jobs'))).toEqual([])
  expect(await readdir(join(workDir, 'runs'))).toEqual([])
}, 60_000)

test('a rejected state stays on the agent, and the outcome names the file', async () => {
  const server = await startServer()
  server.refuse(({ kind }) => (kind === 'errored-state' ? 413 : undefined))
  const { workDir } = await startAgent(server, { enginePath: await chattyEngine({ keepsState: true }) })

  const apply = server.submit(coldApply())
  const { status, message } = await apply.finished

  const kept = join(workDir, 'errored-states', `${apply.runId}.tfstate`)
  expect({ status, message }).toMatchObject({ status: 'errored', message: expect.stringContaining(kept) })
  expect(await readFile(kept, 'utf8')).toBe('kept\n')
  await expect.poll(() => readdir(join(workDir, 'jobs'))).toEqual([])
})
