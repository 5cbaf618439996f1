import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { endOf } from './server.ts'

const PROGRAM = join(import.meta.dirname, '../agent/bin/groundstate-agent.mjs')

export type BootedAgent = {
  name: string
  workDir: string
  pid: number
  output: () => string
  stop: (signal?: NodeJS.Signals) => Promise<void>
  /** Resolves when the current process has exited. */
  ended: () => Promise<void>
  /** Restarts it on the same working directory. */
  restart: () => Promise<void>
}

/**
 * Starts a standalone agent as a process, stopped at the end of the file. `command` prefixes the agent's, as
 * `ip netns exec` does.
 */
export function bootAgent({
  url,
  token,
  name,
  workDir,
  settings = {},
  command = [],
  program: agentProgram = PROGRAM,
}: {
  url: string
  token: string
  name: string
  workDir: string
  settings?: Record<string, string>
  command?: readonly string[]
  program?: string
}): BootedAgent {
  let output = ''
  let child: ChildProcess = start()

  function start() {
    const [program, ...args] = [...command, process.execPath, agentProgram]
    const started = spawn(program, args, {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        GROUNDSTATE_URL: url,
        GROUNDSTATE_AGENT_TOKEN: token,
        GROUNDSTATE_NAME: name,
        GROUNDSTATE_WORK_DIR: workDir,
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    started.stdout.on('data', (data: Buffer) => (output += data.toString()))
    started.stderr.on('data', (data: Buffer) => (output += data.toString()))
    return started
  }

  const agent: BootedAgent = {
    name,
    workDir,
    get pid() {
      return child.pid ?? 0
    },
    output: () => output,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      await endOf(child)
    },
    ended: async () => endOf(child),
    async restart() {
      child = start()
    },
  }
  atEnd(() => agent.stop('SIGKILL'))
  return agent
}

/** Runs the commands that the web UI shows to install and start an agent, in `directory`; all their processes end with the file. */
export async function runShownCommands(directory: string, commands: string, name: string) {
  const script = join(directory, 'start.sh')
  await writeFile(script, commands)
  const agent = spawn('sh', ['-e', script], {
    cwd: directory,
    env: {
      PATH: `${directory}/bin:/usr/local/bin:/usr/bin:/bin`,
      HOME: directory,
      npm_config_prefix: directory,
      npm_config_cache: join(directory, 'cache'),
      GROUNDSTATE_WORK_DIR: join(directory, 'work'),
      GROUNDSTATE_NAME: name,
      GROUNDSTATE_ENGINE_DOWNLOADS: 'off',
    },
    stdio: 'ignore',
    detached: true,
  })
  atEnd(() => {
    if (agent.pid !== undefined) execFileSync('sh', ['-c', `kill -KILL -${agent.pid} || true`])
  })
}
