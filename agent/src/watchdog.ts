import { spawn, type ChildProcess } from 'node:child_process'

/**
 * Reads `hold PGID` and `free PGID` lines; at the end of its input, which is the death of the agent however it died, it kills
 * every process group that is still held. The traps keep it alive where signals are sent to everything at once.
 */
const SCRIPT = `
trap '' INT TERM HUP
held=
while read -r verb id; do
  if [ "$verb" = hold ]; then
    held="$held $id"
  else
    rest=
    for other in $held; do [ "$other" = "$id" ] || rest="$rest $other"; done
    held=$rest
  fi
done
for id in $held; do kill -KILL "-$id"; done
`

/**
 * Makes sure that no engine outlives its agent: an apply whose agent was killed would go on behind the server's back. Node
 * can't ask the kernel for a death signal, and that would not reach the engine's own children; so a shell in a session of its
 * own waits on a pipe that only the agent holds open.
 */
export type Watchdog = Disposable & { hold: (pid: number) => void; free: (pid: number) => void }

export function startWatchdog(onError: (error: Error) => void): Watchdog {
  const held = new Set<number>()
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
    for (const pid of held) child.stdin?.write(`hold ${pid}\n`)
    return child
  }

  return {
    hold(pid) {
      held.add(pid)
      shell.stdin?.write(`hold ${pid}\n`)
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
