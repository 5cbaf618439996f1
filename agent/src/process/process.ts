import { writeFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import type { Exit, LaunchSpec } from './launcher-process.ts'
import type { Launcher } from './launcher.ts'
import type { Watchdog } from './watchdog.ts'

/** Why a job was stopped. */
export type StopKind = 'canceled' | 'force-canceled' | 'time-limit' | 'lease-lost' | 'cut-off' | 'agent-stopped'

/** The reason with which a job's signals abort. */
export class Stopped extends Error {
  override name = 'Stopped'
  kind: StopKind

  constructor(kind: StopKind, message: string) {
    super(message)
    this.kind = kind
  }
}

/** Both abort with a `Stopped`: `interrupt` asks the engine to end, `kill` ends it at once. */
export type StopSignals = { interrupt: AbortSignal; kill: AbortSignal; graceMs: () => number }

export type ProcessSpec = LaunchSpec & {
  /** Called with whole lines, of one stream at a time. What it returns is awaited, which holds the process back. */
  onOutput: (lines: Buffer, stream: 'stdout' | 'stderr') => Promise<void> | void
}

/** Longer than this a line is handed on in pieces, in bytes. */
const MAX_LINE_BYTES = 65_536

/**
 * Runs a process in a new process group and resolves with its exit.
 *
 * An interrupt is SIGINT to the group, as Ctrl-C in a terminal is; the engine then ends what it is at and stores the state. A
 * second one after half of the grace makes it stop at once, and at its end the group is killed. Nothing of the group is left
 * when this resolves. Throws the `Stopped` of a signal that had aborted before the start.
 */
export async function runProcess(
  { onOutput, ...spec }: ProcessSpec,
  stop: StopSignals,
  { launcher, watchdog }: { launcher: Launcher; watchdog: Watchdog },
): Promise<Exit> {
  stop.kill.throwIfAborted()
  stop.interrupt.throwIfAborted()
  const { pid, stdout, stderr, exited, closed } = await launcher.launch(spec)
  watchdog.hold(pid, spec.orphan?.graceMs)

  const timers: NodeJS.Timeout[] = []
  const kill = () => signalGroup(pid, 'SIGKILL')
  const interrupt = () => {
    if (spec.orphan !== undefined) writeFileSync(spec.orphan.interruptedFile, '')
    signalGroup(pid, 'SIGINT')
    const graceMs = stop.graceMs()
    timers.push(
      setTimeout(() => signalGroup(pid, 'SIGINT'), graceMs / 2),
      setTimeout(kill, graceMs),
    )
  }
  stop.interrupt.addEventListener('abort', interrupt)
  stop.kill.addEventListener('abort', kill)
  // Either may have come while the process started.
  if (stop.kill.aborted) kill()
  else if (stop.interrupt.aborted) interrupt()

  const output = Promise.all([
    readLines(stdout, (lines) => onOutput(lines, 'stdout')),
    readLines(stderr, (lines) => onOutput(lines, 'stderr')),
  ])
  try {
    // A failure to hand output on must not leave the engine blocked on a full pipe.
    const exit = await Promise.race([exited, output.then(() => exited)])
    // What the engine started and left behind would hold the pipes open, and outlive the run.
    kill()
    await Promise.all([closed, output])
    return exit
  } catch (error) {
    kill()
    throw error
  } finally {
    for (const timer of timers) clearTimeout(timer)
    stop.interrupt.removeEventListener('abort', interrupt)
    stop.kill.removeEventListener('abort', kill)
    watchdog.free(pid)
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals) {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // The group is gone: what the signal was for is done.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Hands on whole lines only: lines of two streams must not end up inside each other. */
async function readLines(stream: Readable, onLines: (lines: Buffer) => Promise<void> | void) {
  let rest: Buffer[] = []
  let restSize = 0
  for await (const chunk of stream) {
    const bytes: Buffer = chunk
    const end = bytes.lastIndexOf(0x0a) + 1
    if (end === 0 && restSize + bytes.length < MAX_LINE_BYTES) {
      rest.push(bytes)
      restSize += bytes.length
      continue
    }
    const cut = end === 0 ? bytes.length : end
    await onLines(Buffer.concat([...rest, bytes.subarray(0, cut)]))
    rest = cut < bytes.length ? [bytes.subarray(cut)] : []
    restSize = bytes.length - cut
  }
  if (restSize > 0) await onLines(Buffer.concat(rest))
}
