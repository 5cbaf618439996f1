import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClientOptions, cliConfiguration, ownCliConfiguration, tokenFromVariables } from './cli-config.ts'

/** Time within which repeated signals count as one, in ms: `timeout` signals its child and then the child's group. */
const SAME_SIGNAL_MS = 500

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']

/**
 * Runs `command` with a CLI configuration for the server; `cloud` blocks without a host name use the server. Returns the command's exit code, 128
 * plus the number of the signal that ended it, or 127 if it cannot be started.
 */
export async function execCommand(command: readonly string[], options: ClientOptions): Promise<number> {
  const [program, ...args] = command
  if (program === undefined) return 2
  const token = options.token ?? tokenFromVariables(process.env, options.hostName)
  if (token === undefined) {
    process.stderr.write(
      'groundstate: no API token: set GROUNDSTATE_TOKEN, or create one with `groundstate token create`\n',
    )
    return 2
  }
  // On a terminal, the child gets the terminal's signals itself, and needs the terminal for prompts. Otherwise it gets its own process group
  // and signals from here: `timeout`, systemd and CI runners signal whole groups, and a second signal would stop terraform without cleanup.
  const detached = !process.stdin.isTTY
  const directory = mkdtempSync(join(tmpdir(), 'groundstate-exec-'))
  const last = new Map<string, number>()
  let child: ChildProcess | undefined
  const listener = (name: NodeJS.Signals) => {
    const before = last.get(name) ?? -Infinity
    last.set(name, performance.now())
    if (performance.now() - before > SAME_SIGNAL_MS) void forward(name)
  }
  // From here on there is a file with a token, so no signal may end this process before its cleanup.
  for (const name of SIGNALS) process.on(name, listener)
  using group = detached ? undefined : watchGroup()

  async function forward(name: NodeJS.Signals) {
    if (group !== undefined && (name !== 'SIGTERM' || (await group.wasTerminated(SAME_SIGNAL_MS)))) return
    child?.kill(name)
  }

  try {
    const file = join(directory, 'terraform.rc')
    const content = `${cliConfiguration({ ...options, token })}\n${ownCliConfiguration(process.env)}`
    writeFileSync(file, content, { mode: 0o600 })
    const env = { TF_CLOUD_HOSTNAME: options.hostName, ...process.env, TF_CLI_CONFIG_FILE: file }
    return await new Promise<number>((resolve) => {
      child = spawn(program, args, { stdio: 'inherit', detached, env })
      child.on('error', (error) => {
        process.stderr.write(`groundstate: ${program} can't be started: ${error.message}\n`)
        resolve(127)
      })
      child.on('close', (code, signal) => {
        resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
      })
    })
  } finally {
    rmSync(directory, { recursive: true, force: true })
    for (const name of SIGNALS) process.off(name, listener)
  }
}

/** Ignores terminal signals, is killed by a SIGTERM to its group, and ends when its input closes. */
const WATCHER = `trap '' INT QUIT HUP; exec cat`

/** Starts a process in this one's process group. A SIGTERM that kills it was sent to the whole group, and so reached all other children. */
function watchGroup() {
  let diedAt = -Infinity
  let onDeath = () => {}
  let ended = false
  let current = start()

  function start() {
    // If it cannot be started, no signal is detected.
    const started = spawn('sh', ['-c', WATCHER], { stdio: ['pipe', 'ignore', 'ignore'] }).on('error', () => {})
    return started.on('exit', (_, signal) => {
      if (signal === null) return
      diedAt = performance.now()
      onDeath()
      if (!ended) current = start()
    })
  }

  return {
    /** Whether the SIGTERM that this process just received was sent to its group; false takes `withinMs`. */
    async wasTerminated(withinMs: number) {
      if (performance.now() - diedAt < withinMs) return true
      return await new Promise<boolean>((resolve) => {
        const timer = setTimeout(resolve, withinMs, false)
        onDeath = () => {
          clearTimeout(timer)
          resolve(true)
        }
      })
    },
    [Symbol.dispose]() {
      ended = true
      current.kill()
    },
  }
}
