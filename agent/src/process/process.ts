import { writeFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { codeOf } from './errors.ts'
import type { LaunchSpec } from './launcher-process.ts'
import type { Launcher } from './launcher.ts'
import type { Watchdog } from './watchdog.ts'

export type StopKind = 'canceled' | 'force-canceled' | 'time-limit' | 'lease-lost' | 'unreachable' | 'agent-stopped'

/** The reason with which a job's signals abort. */
export class Stopped extends Error {
  override name = 'Stopped'
  kind: StopKind

  constructor(kind: StopKind, message: string) {
    super(message)
    this.kind = kind
  }
}

/** Both abort with a `Stopped`: `interrupt` sends SIGINT to the engine, `kill` ends it at once. */
export type StopSignals = { interrupt: AbortSignal; kill: AbortSignal; graceMs: () => number }

/** Awaits work until the signal aborts; the work continues. Rejects with the reason of the abort. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

export type ProcessSpec = LaunchSpec & {
  /** Receives whole lines of one stream. A returned promise applies back-pressure to the process. */
  onOutput: (lines: Buffer, stream: 'stdout' | 'stderr') => Promise<void> | void
}

type ProcessServices = { launcher: Launcher; watchdog: Watchdog }

/** Longer lines are split, in bytes. */
const MAX_LINE_BYTES = 65_536

/**
 * Runs a process in a new process group and resolves with its exit, when no process of the group is left.
 *
 * An interrupt is SIGINT to the group, as Ctrl-C in a terminal: the engine finishes its current operations and stores the state. A
 * second SIGINT after half of the grace period stops it at once; at its end the group is killed. Throws the `Stopped` of a signal
 * that aborted before the start.
 */
export async function runProcess({ onOutput, ...spec }: ProcessSpec, stop: StopSignals, services: ProcessServices) {
  const { launcher, watchdog } = services
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
  // Either may have aborted during the start.
  if (stop.kill.aborted) kill()
  else if (stop.interrupt.aborted) interrupt()

  const output = Promise.all([
    readLines(stdout, (lines) => onOutput(lines, 'stdout')),
    readLines(stderr, (lines) => onOutput(lines, 'stderr')),
  ])
  try {
    // A failing consumer of the output must not leave the engine blocked on a full pipe.
    const exit = await Promise.race([exited, output.then(() => exited)])
    // Processes left by the engine would hold the pipes open and outlive the run.
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
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

/** Passes on whole lines only, so that the two streams do not mix within a line. */
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
