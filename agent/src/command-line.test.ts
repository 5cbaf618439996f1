import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

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

test('an agent whose settings nobody wants to hear of ends as it should', async () => {
  const agent = await startWithoutReader({})

  expect(await once(agent, 'exit')).toEqual([2, null])
})
