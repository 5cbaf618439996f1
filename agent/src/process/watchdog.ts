import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Reads `hold PGID SECONDS` and `free PGID` lines; at the end of its input, which is the death of the agent however it died, it
 * kills every process group that is still held, each after its seconds. The launcher has interrupted those that get some: a second
 * interrupt would make the engine drop what it is at. The traps keep the shell alive where signals are sent to everything at once.
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
 * Makes sure that no engine outlives its agent for long: an apply whose agent was killed would go on behind the server's back. Node
 * can't ask the kernel for a death signal, and that would not reach the engine's own children; so a shell in a session of its
 * own waits on a pipe that only the agent holds open.
 */
export type Watchdog = Disposable & {
  /** `graceMs` is what the group gets after the death of the agent. */
  hold: (pid: number, graceMs?: number) => void
  free: (pid: number) => void
}

/** Margin for the watchdog's inexact timer, in ms: the agent interrupts first. */
const EXIT_MARGIN_MS = 10_000

export function startWatchdog(onError: (error: Error) => void): Watchdog {
  const held = new Map<number, number>()
  let disposed = false
  let shell = start()

  function start(): ChildProcess {
    const child = spawn('/bin/sh', ['-c', SCRIPT], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: {},
      cwd: '/',
    })
    child.on('error', onError)
    // The pipe breaks only when the shell is gone, which its exit tells.
    child.stdin?.on('error', () => {})
    child.on('exit', () => {
      if (!disposed) shell = start()
    })
    child.unref()
    for (const [pid, seconds] of held) child.stdin?.write(`hold ${pid} ${seconds}\n`)
    return child
  }

  return {
    hold(pid, graceMs) {
      const seconds = graceMs === undefined ? 0 : Math.ceil((graceMs + EXIT_MARGIN_MS) / 1000)
      held.set(pid, seconds)
      shell.stdin?.write(`hold ${pid} ${seconds}\n`)
    },
    free(pid) {
      held.delete(pid)
      shell.stdin?.write(`free ${pid}\n`)
    },
    [Symbol.dispose]() {
      disposed = true
      shell.stdin?.end()
    },
  }
}
