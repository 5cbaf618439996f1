import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import type { Readable } from 'node:stream'
import { openConfinedDirectory } from './confined-file.ts'
import { messageOf } from './errors.ts'
import { type RelayTarget, openRelay } from './relay.ts'
import { endProcessesOf } from './user-processes.ts'

/** The launcher process, see `launcher.ts`. It imports little: its size determines the cost of each fork. */

export type LaunchSpec = {
  file: string
  args: string[]
  cwd: string
  /** Linux: a directory of the run. A `cwd` that a link leads out of it is refused. */
  root?: string
  env: Record<string, string>
  /** File for the standard output, which the agent does not get then. */
  stdoutFile?: string
  /** Runs as these ids, without supplementary groups. */
  user?: { uid: number; gid: number }
  cgroup?: CgroupSpec
  /** For an engine that applies: it is interrupted, not killed, when the agent dies. */
  orphan?: OrphanSpec
}

/** A dedicated cgroup for a process: the directory to create, its settings, and the `cgroup.procs` to return to. */
export type CgroupSpec = { directory: string; home: string; settings: Record<string, string> }

export type OrphanSpec = {
  /** For the recovery by the next agent: the process id, the rest of the output, and the exit. */
  pidFile: string
  logFile: string
  /** Maximum size of the log, in bytes, and its last line if the output is longer. */
  logLimit: { bytes: number; notice: string }
  exitFile: string
  /** Exists once the agent has interrupted the engine. */
  interruptedFile: string
  graceMs: number
  /** Target of state uploads after the agent's death; undefined if the engine calls the server directly. */
  relay: RelayTarget | undefined
}

/** Maximum wait for the pipes to close after an engine's exit, in ms. */
const LAST_OUTPUT_MS = 2_000

export type Exit = { code: number | null; signal: NodeJS.Signals | null; outOfMemory?: true }

export type StreamName = 'stdout' | 'stderr'

export type ToLauncher =
  | { id: number; action: 'launch'; spec: LaunchSpec }
  /** Back-pressure on a stream. */
  | { id: number; action: 'pause' | 'resume'; stream: StreamName }
  | { id: number; action: 'clear'; uid: number }

/** In this order: started, output and ends, closed; the exit at any time after the start. */
export type FromLauncher =
  | { id: number; event: 'started'; pid: number }
  | { id: number; event: 'failed'; message: string }
  | { id: number; event: 'output'; stream: StreamName; bytes: Uint8Array }
  | { id: number; event: 'end'; stream: StreamName }
  | { id: number; event: 'exit'; exit: Exit }
  | { id: number; event: 'closed' }
  | { id: number; event: 'cleared'; left: number[] }

type Running = { child: ChildProcess; pid: number } & Pick<LaunchSpec, 'cgroup' | 'orphan'>
const running = new Map<number, Running>()

// A terminal signals the whole group; the agent decides what to do.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

process.on('message', (message) => {
  const request = message as ToLauncher // its only sender is launcher.ts
  if (request.action === 'launch') return launch(request.id, request.spec)
  if (request.action === 'clear') return void clear(request.id, request.uid)
  running.get(request.id)?.child[request.stream]?.[request.action]()
})

// The agent is dead: its engines must not continue without the server's knowledge.
process.on('disconnect', () => {
  // Lets engines store their state through the port of the dead agent. Otherwise they keep it in files.
  const [target] = [...running.values()].flatMap(({ orphan }) => orphan?.relay ?? [])
  if (target !== undefined) openRelay(target).catch(() => {})
  for (const [id, { child, pid, cgroup, orphan }] of running) {
    if (orphan !== undefined) {
      interrupt(id, child, pid, orphan)
      continue
    }
    signalGroup(pid, 'SIGKILL')
    if (cgroup !== undefined) endCgroup(cgroup)
  }
  exitWhenIdle()
})

/** Lets an engine finish its current operations and store its state. Reads its output: a broken pipe would kill it. */
function interrupt(id: number, child: ChildProcess, pid: number, orphan: OrphanSpec) {
  const { logFile, logLimit, exitFile, interruptedFile, graceMs } = orphan
  const log = openSync(logFile, 'a', 0o600)
  let room = logLimit.bytes - fstatSync(log).size
  const onOutput = (bytes: Buffer) => {
    if (room < 0) return
    append(log, bytes.subarray(0, room))
    room -= bytes.length
    if (room < 0) append(log, Buffer.from(logLimit.notice))
  }
  for (const output of [child.stdout, child.stderr]) {
    output?.removeAllListeners('data')
    output?.on('data', onOutput)
    output?.resume()
  }
  const onExit = () => {
    signalGroup(pid, 'SIGKILL')
    // A process outside the group may hold the pipes open.
    setTimeout(onClose, LAST_OUTPUT_MS)
  }
  const onClose = () => {
    writeFileSync(exitFile, JSON.stringify({ code: child.exitCode }), { mode: 0o600 })
    running.delete(id)
    exitWhenIdle()
  }
  child.once('close', onClose)
  if (child.exitCode !== null || child.signalCode !== null) return onExit()
  child.once('exit', onExit)
  // A second interrupt would make the engine drop its state.
  if (!existsSync(interruptedFile)) signalGroup(pid, 'SIGINT')
  setTimeout(signalGroup, graceMs, pid, 'SIGKILL')
}

function append(log: number, bytes: Buffer) {
  try {
    writeSync(log, bytes)
  } catch {
    // The disk is full; the engine continues.
  }
}

function exitWhenIdle() {
  if (![...running.values()].some(({ orphan }) => orphan !== undefined)) process.exit()
}

async function clear(id: number, uid: number) {
  send({ id, event: 'cleared', left: await endProcessesOf([uid]) })
}

function launch(id: number, spec: LaunchSpec) {
  try {
    const output = spec.stdoutFile === undefined ? undefined : openSync(spec.stdoutFile, 'w', 0o600)
    try {
      follow(id, start(spec, output), spec)
    } finally {
      if (output !== undefined) closeSync(output)
    }
  } catch (error) {
    sendFailure(id, error)
  }
}

/** A child starts in its parent's cgroup, so this process enters it for the fork. The limits are set later, and so do not apply to it. */
function start({ file, args, cwd, root, env, user, cgroup }: LaunchSpec, output: number | undefined): ChildProcess {
  // The child enters its directory before it drops root.
  using place = root === undefined ? undefined : openConfinedDirectory(cwd, { root, user })
  const directory = place === undefined ? cwd : `/proc/self/fd/${place.fd}`
  const run = () =>
    spawn(file, args, { cwd: directory, env, ...user, detached: true, stdio: ['ignore', output ?? 'pipe', 'pipe'] })
  if (cgroup === undefined) return run()
  mkdirSync(cgroup.directory)
  try {
    writeFileSync(`${cgroup.directory}/cgroup.procs`, '0')
    const child = run()
    writeFileSync(cgroup.home, '0')
    for (const [name, value] of Object.entries(cgroup.settings)) writeFileSync(`${cgroup.directory}/${name}`, value)
    return child
  } catch (error) {
    writeFileSync(cgroup.home, '0')
    endCgroup(cgroup)
    removeCgroup(cgroup)
    throw error
  }
}

function follow(id: number, child: ChildProcess, { cgroup, orphan }: LaunchSpec) {
  child.once('error', (error) => sendFailure(id, error))
  const { pid } = child
  if (pid === undefined) return
  running.set(id, { child, pid, ...(cgroup && { cgroup }), ...(orphan && { orphan }) })
  if (orphan !== undefined) writeFileSync(orphan.pidFile, String(pid), { mode: 0o600 })
  send({ id, event: 'started', pid })
  forward(id, 'stdout', child.stdout)
  forward(id, 'stderr', child.stderr)
  child.once('exit', (code, signal) => {
    const outOfMemory = cgroup !== undefined && endCgroup(cgroup)
    send({ id, event: 'exit', exit: { code, signal, ...(outOfMemory && { outOfMemory }) } })
  })
  child.once('close', () => {
    running.delete(id)
    if (cgroup !== undefined) removeCgroup(cgroup)
    send({ id, event: 'closed' })
  })
}

/** Kills the remaining processes of a cgroup; returns whether it ran out of memory. */
function endCgroup({ directory }: CgroupSpec): boolean {
  let outOfMemory = false
  try {
    outOfMemory = /^oom_kill [1-9]/m.test(readFileSync(`${directory}/memory.events`, 'utf8'))
  } catch {
    // Absent without the memory controller.
  }
  try {
    writeFileSync(`${directory}/cgroup.kill`, '1')
  } catch {
    // Absent before Linux 5.14; the agent also kills the process group.
  }
  return outOfMemory
}

/** Killed processes leave their cgroup with a delay. */
function removeCgroup(cgroup: CgroupSpec, attempts = 50) {
  try {
    rmdirSync(cgroup.directory)
  } catch {
    if (attempts > 0) setTimeout(removeCgroup, 20, cgroup, attempts - 1)
  }
}

function forward(id: number, stream: StreamName, output: Readable | null) {
  const end = () => send({ id, event: 'end', stream })
  if (output === null) return end()
  output.on('data', (bytes: Buffer) => send({ id, event: 'output', stream, bytes }))
  output.once('end', end)
}

function sendFailure(id: number, error: unknown) {
  send({ id, event: 'failed', message: messageOf(error) })
}

function send(message: FromLauncher) {
  // The agent may be dying. Without the callback, a failed send would end this process, and the engine with it.
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

function signalGroup(pid: number, signal: NodeJS.Signals) {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has already exited.
  }
}
