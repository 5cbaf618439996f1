import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const BIN = join(import.meta.dirname, '../../bin/groundstate.mjs')

/** Names its configuration, tells of a first signal, and ends with the number that it got within a moment of that. */
const COUNTER = `
let count = 0
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    if (count++ > 0) return
    console.log('got it')
    setTimeout(() => process.exit(count), 300)
  })
console.log(process.env.TF_CLI_CONFIG_FILE)
setInterval(() => {}, 1000)`

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s to exec and then to its group, as `timeout` sends it, reaches the command once: a second one means haste',
  async (signal) => {
    const args = [BIN, 'exec', '--token', 'x', '--', process.execPath, '-e', COUNTER]
    const exec = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
    const ended = once(exec, 'exit')
    const [line] = await once(exec.stdout, 'data')
    const file = String(line).trim()
    const before = existsSync(file)

    exec.kill(signal)
    await once(exec.stdout, 'data')
    process.kill(-(exec.pid ?? 0), signal)

    expect(await ended).toEqual([1, null])
    expect(before).toBe(true)
    expect(existsSync(dirname(file))).toBe(false)
  },
)
