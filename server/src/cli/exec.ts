import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClientOptions, cliConfiguration, ownCliConfiguration, tokenFromVariables } from './cli-config.ts'
import { watchGroup } from './group-watcher.ts'

/**
 * A signal that repeats within this time counts as one: `timeout` sends it to its child and then to the child's group.
 */
const SAME_SIGNAL_MS = 500

/** The signals that end a command. */
const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']

/**
 * Runs `command` with a CLI configuration for the server; `cloud` blocks without a host name use the server. Returns
 * the command's exit code, 128 + the signal's number if a signal ended it, or 127 if it can't be started.
 */
export async function execCommand(command: readonly string[], options: ClientOptions): Promise<number> {
  const [program, ...args] = command
  if (program === undefined) return 2
  const token = options.token ?? tokenFromVariables(process.env, options.hostName)
  if (token === undefined) {
    process.stderr.write(
      'groundstate: no API token: set GROUNDSTATE_TOKEN, or make one with `groundstate token create`\n',
    )
    return 2
  }
  // At a terminal, the child gets the terminal's signals itself, and needs the terminal for prompts. Otherwise it gets
  // its own process group, and every signal from here. `timeout`, systemd and CI runners signal whole groups, and a
  // second signal would make terraform stop without cleaning up.
  const detached = !process.stdin.isTTY
  const directory = mkdtempSync(join(tmpdir(), 'groundstate-exec-'))
  const last = new Map<string, number>()
  let child: ChildProcess | undefined
  const listener = (name: NodeJS.Signals) => {
    const before = last.get(name) ?? -Infinity
    last.set(name, performance.now())
    if (performance.now() - before > SAME_SIGNAL_MS) void proxyRequest(name)
  }
  // A file with a token exists from here on, so no signal may end this process before the command ends.
  for (const name of SIGNALS) process.on(name, listener)
  using group = detached ? undefined : watchGroup()

  async function proxyRequest(name: NodeJS.Signals) {
    if (group !== undefined && (name !== 'SIGTERM' || (await group.wasTerminated(SAME_SIGNAL_MS)))) return
    child?.kill(name)
  }

  try {
    const file = join(directory, 'terraform.rc')
    writeFileSync(file, `${cliConfiguration({ ...options, token })}\n${ownCliConfiguration(process.env)}`, {
      mode: 0o600,
    })
    return await new Promise<number>((resolve) => {
      child = spawn(program, args, {
        stdio: 'inherit',
        detached,
        env: {
          ...process.env,
          TF_CLI_CONFIG_FILE: file,
          TF_CLOUD_HOSTNAME: process.env['TF_CLOUD_HOSTNAME'] ?? options.hostName,
        },
      })
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
