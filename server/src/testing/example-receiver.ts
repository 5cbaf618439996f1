import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { atEnd } from './cleanup.ts'

const PROGRAM = join(import.meta.dirname, '../../../examples/run-task-receiver/receiver.mjs')

export type ExampleReceiver = { url: string; output: () => string }

/** Starts the receiver of `examples/` as a program, on a free port, until the test ends, or the file. */
export async function startExampleReceiver(settings: Record<string, string> = {}): Promise<ExampleReceiver> {
  const child = spawn(process.execPath, [PROGRAM], {
    env: { PATH: process.env['PATH'], PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  atEnd(() => child.kill())
  let output = ''
  const port = await new Promise<string>((resolve, reject) => {
    const onData = (data: Buffer) => {
      output += data.toString()
      const found = /listening on port (\d+)/.exec(output)?.[1]
      if (found !== undefined) resolve(found)
    }
    child.stdout.on('data', onData)
    child.stderr.on('data', onData)
    child.once('exit', (code) => reject(new Error(`the example ended with ${code}:\n${output}`)))
  })
  return { url: `http://127.0.0.1:${port}/`, output: () => output }
}
