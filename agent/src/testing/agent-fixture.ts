import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { runAgent } from '../agent/agent.ts'
import type { AgentOptions } from '../settings/agent-options.ts'
import { archiveOf } from './archive.ts'
import { AGENT_TOKEN, type ProtocolServer, startProtocolServer } from './protocol-server.ts'

const terraform = spawnSync('terraform', ['version'], { env: { PATH: process.env['PATH'], CHECKPOINT_DISABLE: '1' } })

/** A `describe` for tests that need the real engine; without it they are skipped with a message. */
export const describeWithTerraform = terraform.status === 0 ? describe : skipLoudly()

function skipLoudly(): typeof describe.skip {
  process.stderr.write('\nNO TERRAFORM IN PATH: the tests that run the real engine are SKIPPED.\n\n')
  return describe.skip
}

export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'gs-agent-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

export type Logged = { level: string; message: string; facts: object }

/** Starts an agent of this server, stopped with the test. */
export async function startAgent(server: ProtocolServer, overrides: Partial<AgentOptions> = {}) {
  const stop = new AbortController()
  const forceful = new AbortController()
  const logged: Logged[] = []
  const note = (level: string) => (facts: object, message: string) => void logged.push({ level, message, facts })
  const workDir = overrides.workDir ?? (await temporaryDirectory())
  const ended = runAgent({
    serverUrl: server.url,
    token: AGENT_TOKEN,
    name: 'test-agent',
    concurrency: 1,
    workDir,
    log: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') },
    signal: stop.signal,
    forcefulSignal: forceful.signal,
    ...overrides,
  })
  // A test that expects a failure awaits `ended`.
  ended.catch(() => {})
  onTestFinished(async () => {
    stop.abort()
    forceful.abort()
    await ended.catch(() => {})
  })
  return { workDir, logged, ended, stop: () => stop.abort(), forceStop: () => forceful.abort() }
}

/** Starts a protocol server, stopped with the test. */
export async function startServer(tls?: { cert: string; key: string }): Promise<ProtocolServer> {
  const server = await startProtocolServer(tls)
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}

/** A configuration of one file. */
export function configuration(main: string, others: Record<string, string> = {}): Buffer {
  return archiveOf({ 'main.tf': main, ...others })
}

export const ONE_RESOURCE = `
resource "terraform_data" "one" { input = "hello" }
output "greeting" { value = terraform_data.one.output }
`

/** A configuration whose apply waits in a shell that prints its process id. */
export const WAITING = configuration(`resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo pid=$$; exec sleep 300" }
}`)

/** A configuration whose apply runs a shell script. */
export function scripted(script: string): Buffer {
  const main = `resource "terraform_data" "script" {
  provisioner "local-exec" { command = "sh \${path.module}/script.sh" }
}
`
  return configuration(main, { 'script.sh': script })
}

/** Plans and applies on a running agent; returns the apply's job. */
export async function applied(server: ProtocolServer, archive: Buffer, more: object = {}) {
  const plan = server.submit({ configuration: archive, ...more })
  expect(await plan.finished).toMatchObject({ status: 'finished' })
  const apply = server.submit({
    kind: 'apply',
    runId: plan.runId,
    configuration: archive,
    artifacts: plan.artifacts,
    ...more,
  })
  return { apply, outcome: await apply.finished }
}

/** A directory of hooks, as shell scripts. */
export async function hooksDirectory(hooks: Record<string, string>) {
  const directory = join(await temporaryDirectory(), 'hooks')
  await mkdir(directory)
  await chmod(join(directory, '..'), 0o755)
  for (const [name, text] of Object.entries(hooks))
    await writeFile(join(directory, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return directory
}

/** Creates one resource, then waits in a second one whose shell prints its process id. */
const SLOW_APPLY = configuration(`
resource "terraform_data" "first" {}
resource "terraform_data" "slow" {
  depends_on = [terraform_data.first]
  provisioner "local-exec" { command = "echo pid=$$; exec sleep 300" }
}`)

/** Submits an apply that waits; returns it and the process id of its shell. */
export async function startSlowApply(
  server: ProtocolServer,
  job: { graceMs?: number; timeLimitMs?: number; leaseMs?: number } = {},
) {
  await server.submit({ runId: 'run-a', configuration: SLOW_APPLY }).finished
  const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: SLOW_APPLY, ...job })
  await apply.logged(/pid=\d/)
  return { apply, pid: pidIn(apply.log()) }
}

/** The process id in a log. */
export function pidIn(log: string): number {
  return Number(/pid=(\d+)/.exec(log)?.[1])
}
