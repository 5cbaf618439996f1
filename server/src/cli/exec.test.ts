import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'

const BIN = join(import.meta.dirname, '../../bin/groundstate.mjs')

/**
 * Prints its parent, its configuration and each signal. Ends at SIGQUIT or a line of input, and prints the number of
 * signals.
 */
const COUNTER = `
let count = 0
const end = () => process.exit(count)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    count++
    console.log('got ' + signal)
  })
process.on('SIGQUIT', end)
process.stdin.once('data', end)
console.log(process.ppid + ' ' + process.env.TF_CLI_CONFIG_FILE)`

/** Like `COUNTER`, but it exits after `exec` has handled a signal. */
const PATIENT_COUNTER = `${COUNTER}
process.once('SIGTERM', () => setTimeout(end, 1000))`

const argsOf = (program: string) => [BIN, 'exec', '--token', 'x', '--', process.execPath, '-e', program]

function linesOf(output: Readable) {
  const lines = createInterface(output)[Symbol.asyncIterator]()
  return async () => String((await lines.next()).value)
}

async function startExec(program: string) {
  return await started(spawn(process.execPath, argsOf(program), { stdio: ['pipe', 'pipe', 'inherit'], detached: true }))
}

/** `stdin` is typed at a terminal. */
async function startExecAtTerminal(program: string) {
  const command = [process.execPath, ...argsOf(program)].map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`).join(' ')
  const args = ['-qefc', `exec ${command}`, '/dev/null']
  return await started(spawn('script', args, { stdio: ['pipe', 'pipe', 'inherit'] }))
}

async function started(child: ChildProcessByStdio<Writable, Readable, null>) {
  const { stdin, stdout } = child
  const ended = once(child, 'exit')
  const nextLine = linesOf(stdout)
  const [pid = '', file = ''] = (await nextLine()).trim().split(' ')
  const exec = Number(pid)
  onTestFinished(() => {
    for (const target of [-exec, exec]) signal(target, 'SIGTERM')
    child.kill()
  })
  return { exec, file, stdin, ended, nextLine }
}

/** The process may have ended. */
function signal(pid: number, name: NodeJS.Signals) {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s to exec and then to its group, as `timeout` sends it, reaches the command once: a second one means haste',
  async (name) => {
    const { exec, file, ended, nextLine } = await startExec(COUNTER)
    const before = existsSync(file)

    signal(exec, name)
    signal(-exec, name)
    await nextLine()
    signal(exec, 'SIGQUIT')

    expect(await ended).toEqual([1, null])
    expect(before).toBe(true)
    expect(existsSync(dirname(file))).toBe(false)
  },
)

test('SIGQUIT ends the command as well, and removes the token', async () => {
  const program = "console.log(process.ppid + ' ' + process.env.TF_CLI_CONFIG_FILE); process.stdin.resume()"
  const { exec, file, ended } = await startExec(program)

  signal(exec, 'SIGQUIT')

  expect(await ended).toEqual([131, null])
  expect(existsSync(dirname(file))).toBe(false)
})

const hasTerminal = spawnSync('script', ['--version']).status === 0
if (!hasTerminal) console.warn('SKIPPED: how exec behaves at a terminal; install `script` (bsdutils, util-linux)')

test.runIf(hasTerminal)('at a terminal, SIGTERM to the group reaches the command once', async () => {
  const { exec, ended } = await startExecAtTerminal(PATIENT_COUNTER)

  process.kill(-exec, 'SIGTERM')

  expect(await ended).toEqual([1, null])
})

test.runIf(hasTerminal)('at a terminal, SIGTERM to exec alone reaches the command', async () => {
  const { exec, stdin, ended, nextLine } = await startExecAtTerminal(COUNTER)

  signal(exec, 'SIGTERM')
  const line = await nextLine()
  stdin.write('\n')

  expect(line.trim()).toBe('got SIGTERM')
  expect(await ended).toEqual([1, null])
})

test.runIf(hasTerminal)('at a terminal, Ctrl-C reaches the command once, and SIGTERM is still passed on', async () => {
  const { exec, file, stdin, ended, nextLine } = await startExecAtTerminal(COUNTER)

  stdin.write('\x03')
  const first = await nextLine()
  signal(exec, 'SIGTERM')
  const second = await nextLine()
  stdin.write('\n')

  expect(first).toContain('got SIGINT')
  expect(second.trim()).toBe('got SIGTERM')
  expect(await ended).toEqual([2, null])
  expect(existsSync(dirname(file))).toBe(false)
})
