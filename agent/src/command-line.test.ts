import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { AGENT_SETTINGS } from './settings/agent-settings.ts'
import { flagOf, variablesOf } from './settings/setting.ts'

const BIN = join(import.meta.dirname, '../bin/groundstate-agent.mjs')

async function startWithoutReader(environment: Record<string, string>) {
  const workDir = await mkdtemp(join(tmpdir(), 'groundstate-agent-'))
  onTestFinished(() => rm(workDir, { recursive: true, force: true }))
  const env = { PATH: process.env['PATH'], GROUNDSTATE_WORK_DIR: workDir, ...environment }
  const agent = spawn(process.execPath, [BIN], { stdio: ['ignore', 'pipe', 'pipe'], env })
  onTestFinished(() => void agent.kill('SIGKILL'))
  agent.stdout.destroy()
  agent.stderr.destroy()
  return agent
}

test('an agent with invalid settings exits even if its output is not read', async () => {
  const agent = await startWithoutReader({})

  expect(await once(agent, 'exit')).toEqual([2, null])
})

test('the help lists every setting and its variables', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [BIN, '--help'])

  for (const [name, setting] of Object.entries(AGENT_SETTINGS)) {
    expect(stdout).toContain(flagOf(name))
    expect(stdout).toContain(variablesOf(name, setting)[0])
  }
})

test('a fatal error is a line of the log', async () => {
  const args = ['--url', 'http://127.0.0.1:9', '--work-dir', '/dev/null/work', '--log-json']
  const agent = spawn(process.execPath, [BIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], GROUNDSTATE_AGENT_TOKEN: 'secret' },
  })

  const [logged, stderr, [code]] = await Promise.all([text(agent.stdout), text(agent.stderr), once(agent, 'exit')])

  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(JSON.parse(logged.trim())).toMatchObject({
    level: 'error',
    message: expect.stringContaining('--work-dir /dev/null/work: a part of the path is a file'),
  })
})

test.runIf(process.platform === 'linux')('a working directory that cannot be created ends the agent', async () => {
  const agent = spawn(process.execPath, [BIN, '--url', 'http://127.0.0.1:9', '--work-dir', '/proc/x/y'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: process.env['PATH'], GROUNDSTATE_AGENT_TOKEN: 'secret' },
  })
  onTestFinished(() => void agent.kill('SIGKILL'))

  const [logged, [code]] = await Promise.all([text(agent.stdout), once(agent, 'exit')])

  expect(code).toBe(1)
  expect(logged).toContain('--work-dir /proc/x/y: the system allows no new directory there')
})

test('a signal ends an agent whose server is unreachable', async () => {
  const workDir = await mkdtemp(join(tmpdir(), 'groundstate-agent-'))
  onTestFinished(() => rm(workDir, { recursive: true, force: true }))
  const agent = spawn(process.execPath, [BIN, '--url', 'http://127.0.0.1:9', '--work-dir', workDir], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: process.env['PATH'], GROUNDSTATE_AGENT_TOKEN: 'secret' },
  })
  onTestFinished(() => void agent.kill('SIGKILL'))
  await once(agent.stdout, 'data')

  agent.kill('SIGTERM')

  expect(await once(agent, 'exit')).toEqual([0, null])
})

test.each([
  [['--ca-file', '/nope'], '--ca-file /nope: there is no such file'],
  [['--ca-file', BIN], 'it contains no PEM certificate'],
  [['--engine-key-file', '/nope'], '--engine-key-file /nope: there is no such file'],
  [['--engine-key-file', BIN], 'it contains no armored PGP public key'],
  [['--token-file', '/'], '--token-file /: it is a directory'],
])('with %s the problem is printed', async (args, problem) => {
  const agent = spawn(process.execPath, [BIN, '--url', 'http://127.0.0.1:9', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'] },
  })

  const [stderr, [code]] = await Promise.all([text(agent.stderr), once(agent, 'exit')])

  expect(code).toBe(2)
  expect(stderr).toContain(problem)
})

test('invalid settings are lines on standard error, and the exit code is 2', async () => {
  const agent = spawn(process.execPath, [BIN, '--concurrency', '0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] },
  })

  const [stderr, [code]] = await Promise.all([text(agent.stderr), once(agent, 'exit')])

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /^groundstate-agent: GROUNDSTATE_URL: it must be set[^\n]*\ngroundstate-agent: --concurrency "0"/,
  )
})
