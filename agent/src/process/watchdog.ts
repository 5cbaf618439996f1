import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Reads `hold PGID SECONDS` and `free PGID` lines. At the end of its input, when the agent has died, it kills each held process group
 * after its seconds. It sends no interrupt: the launcher has, and a second one would make the engine stop at once. The traps keep the
 * shell alive when a terminal signals the whole group.
 */
const SCRIPT = `
trap '' INT TERM HUP
held=
while read -r verb id seconds; do
  if [ "$verb" = hold ]; then
    held="$held $id:$seconds"
  else
    rest=
    for other in $held; do [ "\${other%:*}" = "$id" ] || rest="$rest $other"; done
    held=$rest
  fi
done
elapsed=0
while [ -n "$held" ]; do
  rest=
  for one in $held; do
    id=\${one%:*}
    if [ "$elapsed" -ge "\${one#*:}" ]; then kill -KILL "-$id"; elif kill -0 "-$id"; then rest="$rest $one"; fi
  done
  held=$rest
  elapsed=$((elapsed + 1))
  [ -z "$held" ] || sleep 1
done
`

/**
 * Kills engines that outlive their agent. The kernel's death signal is not available in Node, and would not reach the engine's
 * children, so a shell in a separate session waits on a pipe that only the agent holds open.
 */
export type Watchdog = ReturnType<typeof startWatchdog>

/** Margin for the watchdog's inexact timer, in ms: the agent interrupts first. */
const EXIT_MARGIN_MS = 10_000

export function startWatchdog(onError: (error: Error) => void) {
  const held = new Map<number, number>()
  let disposed = false
  let shell = start()

  function start(): ChildProcess {
    const stdio = ['pipe', 'ignore', 'ignore'] as const
    const child = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: [...stdio], env: {}, cwd: '/' })
    child.on('error', onError)
    // The pipe breaks only when the shell has exited, which is handled below.
    child.stdin?.on('error', () => {})
    child.on('exit', () => {
      if (!disposed) shell = start()
    })
    child.unref()
    for (const [pid, seconds] of held) child.stdin?.write(`hold ${pid} ${seconds}\n`)
    return child
  }

  return {
    /** `graceMs`: grace period of the group after the agent's death. */
    hold(pid: number, graceMs?: number) {
      const seconds = graceMs === undefined ? 0 : Math.ceil((graceMs + EXIT_MARGIN_MS) / 1000)
      held.set(pid, seconds)
      shell.stdin?.write(`hold ${pid} ${seconds}\n`)
    },
    free(pid: number) {
      held.delete(pid)
      shell.stdin?.write(`free ${pid}\n`)
    },
    [Symbol.dispose]() {
      disposed = true
      shell.stdin?.end()
    },
  }
}
