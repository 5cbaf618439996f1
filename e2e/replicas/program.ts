import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { atEnd } from '../../server/src/testing/cleanup.ts'
import { endOf } from '../server.ts'
import type { Process } from '../supervisor.ts'

type Command = {
  name: string
  command: readonly [string, ...string[]]
  options?: SpawnOptions
  /** The text that it prints once it is ready. */
  ready: string
  /** How it ends at the end of the test. */
  signal?: NodeJS.Signals
}

/** Starts a program, and resolves when it is ready. It ends with the test file. */
export async function bootProgram({ name, command, options = {}, ready, signal = 'SIGTERM' }: Command) {
  const [program, ...args] = command
  let child: ChildProcess
  let output = ''

  const start = async () =>
    new Promise<void>((resolve, reject) => {
      const started = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
      child = started
      output = ''
      const onData = (data: Buffer) => {
        output += data.toString()
        if (output.includes(ready)) resolve()
      }
      started.stdout?.on('data', onData)
      started.stderr?.on('data', onData)
      started.once('error', reject)
      started.once('exit', (code) => reject(new Error(`${name} ended with ${code}:\n${output}`)))
    })

  atEnd(async () => {
    child.kill(signal)
    await endOf(child)
  })
  await start()
  return {
    get pid() {
      return child.pid ?? 0
    },
    ended: async () => endOf(child),
    restart: start,
  } satisfies Process
}
