import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { AGENT_TOKEN, type ProtocolServer } from './protocol-server.ts'

/** Starts a standalone agent process, stopped with the test; `env` adds settings. */
export function spawnAgent(
  server: Pick<ProtocolServer, 'url'>,
  workDir: string,
  env: Record<string, string> = {},
): ChildProcess {
  const agent = spawn(process.execPath, [join(import.meta.dirname, '../../bin/groundstate-agent.mjs')], {
    env: {
      PATH: process.env['PATH'],
      GROUNDSTATE_URL: server.url,
      GROUNDSTATE_AGENT_TOKEN: AGENT_TOKEN,
      GROUNDSTATE_WORK_DIR: workDir,
      ...env,
    },
    stdio: 'ignore',
  })
  onTestFinished(() => void agent.kill('SIGKILL'))
  return agent
}

/** Kills an agent, and resolves after its exit. */
export async function kill(agent: ChildProcess) {
  agent.kill('SIGKILL')
  await once(agent, 'exit')
}
