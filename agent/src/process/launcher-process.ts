import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmdirSync, writeFileSync, writeSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { openConfinedDirectory } from './confined-file.ts'
import { type RelayTarget, openRelay } from './relay.ts'
import { endProcessesOf } from './user-processes.ts'

/** The program of the launcher, see `launcher.ts`. It imports next to nothing: its size is what each start of an engine costs. */

export type LaunchSpec = {
  file: string
  args: string[]
  cwd: string
  /** A directory of the run, which may put a link in the place of `cwd` below it: what leads out of it is refused. Linux. */
  root?: string
  env: Record<string, string>
  /** A file that gets standard output in place of the agent. */
  stdoutFile?: string
  /** Numeric ids to run as, without any other group. */
  user?: { uid: number; gid: number }
  cgroup?: CgroupSpec
  /** For an engine that changes things: it is interrupted, not killed, when the agent dies. */
  orphan?: OrphanSpec
}

/** A dedicated cgroup for a process: the directory to create, its settings, and the `cgroup.procs` to return to. */
export type CgroupSpec = { directory: string; home: string; settings: Record<string, string> }

export type OrphanSpec = {
  /** For the agent that comes next: the process id, the rest of the output, and the exit. */
  pidFile: string
  logFile: string
  exitFile: string
  /** It is there once the agent itself has interrupted the engine. */
  interruptedFile: string
  graceMs: number
  /** Where the engine stores its state after the agent has died; undefined where it calls the server itself. */
  relay: RelayTarget | undefined
}

/** After the end of an engine its pipes are waited for so long, in ms. */
const LAST_OUTPUT_MS = 2_000

/** How a process ended: one of code and signal is null. */
export type Exit = { code: number | null; signal: NodeJS.Signals | null; outOfMemory?: true }

export type StreamName = 'stdout' | 'stderr'

export type ToLauncher =
  | { id: number; action: 'launch'; spec: LaunchSpec }
  /** Holds a stream back, and the process that writes to it, until it is wanted again. */
  | { id: number; action: 'pause' | 'resume'; stream: StreamName }
  /** Ends all processes of a user. */
  | { id: number; action: 'clear'; uid: number }

/** In this order: started, output and ends, closed; an exit comes at any time after the start. */
export type FromLauncher =
  | { id: number; event: 'started'; pid: number }
  | { id: number; event: 'failed'; message: string }
  | { id: number; event: 'output'; stream: StreamName; bytes: Uint8Array }
  | { id: number; event: 'end'; stream: StreamName }
  | { id: number; event: 'exit'; exit: Exit }
  | { id: number; event: 'closed' }
  | { id: number; event: 'cleared'; left: number[] }

const children = new Map<number, ChildProcess>()
const cgroups = new Map<number, CgroupSpec>()
const orphans = new Map<number, OrphanSpec>()

// What a terminal sends to everything at once is the agent's to decide about.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

process.on('message', (message) => {
  const request = message as ToLauncher // its only sender is launcher.ts
  if (request.action === 'launch') return launch(request.id, request.spec)
  if (request.action === 'clear') return void clear(request.id, request.uid)
  children.get(request.id)?.[request.stream]?.[request.action]()
})

// The agent is gone, however it ended: what it started must not go on behind the server's back.
process.on('disconnect', () => {
  relayForOrphans()
  for (const [id, child] of children) {
    const orphan = orphans.get(id)
    if (child.pid === undefined) children.delete(id)
    else if (orphan !== undefined) interrupt(child, child.pid, orphan)
    else {
      signalGroup(child.pid, 'SIGKILL')
      const cgroup = cgroups.get(id)
      if (cgroup !== undefined) endCgroup(cgroup)
    }
  }
  exitWhenIdle()
})

/** The engines store their state through the agent that is gone. Where that can't be they keep it in files. */
function relayForOrphans() {
  const target = [...orphans.values()].find(({ relay }) => relay !== undefined)?.relay
  if (target !== undefined) openRelay(target).catch(() => {})
}

/** Lets an engine end what it is at and store its state. What it says is kept: on a broken pipe it would die. */
function interrupt(child: ChildProcess, pid: number, { logFile, exitFile, interruptedFile, graceMs }: OrphanSpec) {
  const log = openSync(logFile, 'a', 0o600)
  for (const output of [child.stdout, child.stderr]) {
    output?.removeAllListeners('data')
    output?.on('data', (bytes: Buffer) => keep(log, bytes))
    output?.resume()
  }
  const onExit = () => {
    signalGroup(pid, 'SIGKILL')
    // What has left its group may hold the pipes open.
    setTimeout(onClose, LAST_OUTPUT_MS)
  }
  const onClose = () => {
    writeFileSync(exitFile, JSON.stringify({ code: child.exitCode }), { mode: 0o600 })
    children.forEach((other, id) => other === child && children.delete(id))
    exitWhenIdle()
  }
  child.once('close', onClose)
  if (child.exitCode !== null || child.signalCode !== null) return onExit()
  child.once('exit', onExit)
  // At a second interrupt the engine drops its state.
  if (!existsSync(interruptedFile)) signalGroup(pid, 'SIGINT')
  setTimeout(signalGroup, graceMs, pid, 'SIGKILL')
}

function keep(log: number, bytes: Buffer) {
  try {
    writeSync(log, bytes)
  } catch {
    // The disk is full. The engine goes on all the same.
  }
}

function exitWhenIdle() {
  for (const id of children.keys()) if (orphans.has(id)) return
  process.exit()
}

async function clear(id: number, uid: number) {
  send({ id, event: 'cleared', left: await endProcessesOf([uid]) })
}

function launch(id: number, spec: LaunchSpec) {
  try {
    const output = spec.stdoutFile === undefined ? undefined : openSync(spec.stdoutFile, 'w', 0o600)
    try {
      if (spec.orphan !== undefined) orphans.set(id, spec.orphan)
      follow(id, start(spec, output), spec.cgroup)
    } finally {
      if (output !== undefined) closeSync(output)
    }
  } catch (error) {
    sendFailure(id, error)
  }
}

/**
 * A process starts in the cgroup of its parent, so this one goes there for the moment of the start. The limits come
 * afterwards: they are not meant for it.
 */
function start({ file, args, cwd, root, env, user, cgroup }: LaunchSpec, output: number | undefined): ChildProcess {
  // A process enters its directory before it gives up root.
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

function follow(id: number, child: ChildProcess, cgroup: CgroupSpec | undefined) {
  child.once('error', (error) => sendFailure(id, error))
  if (child.pid === undefined) return
  children.set(id, child)
  if (cgroup !== undefined) cgroups.set(id, cgroup)
  const orphan = orphans.get(id)
  if (orphan !== undefined) writeFileSync(orphan.pidFile, String(child.pid), { mode: 0o600 })
  send({ id, event: 'started', pid: child.pid })
  forward(id, 'stdout', child.stdout)
  forward(id, 'stderr', child.stderr)
  child.once('exit', (code, signal) => {
    const outOfMemory = cgroup !== undefined && endCgroup(cgroup)
    send({ id, event: 'exit', exit: { code, signal, ...(outOfMemory && { outOfMemory }) } })
  })
  child.once('close', () => {
    children.delete(id)
    orphans.delete(id)
    cgroups.delete(id)
    if (cgroup !== undefined) removeCgroup(cgroup)
    send({ id, event: 'closed' })
  })
}

/** Kills what is left in a cgroup; answers whether the kernel has killed in it for want of memory. */
function endCgroup({ directory }: CgroupSpec): boolean {
  let outOfMemory = false
  try {
    outOfMemory = /^oom_kill [1-9]/m.test(readFileSync(`${directory}/memory.events`, 'utf8'))
  } catch {
    // Without the memory controller there is no such file.
  }
  try {
    writeFileSync(`${directory}/cgroup.kill`, '1')
  } catch {
    // Linux before 5.14 has no such file; the agent kills the process group all the same.
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
  send({ id, event: 'failed', message: error instanceof Error ? error.message : String(error) })
}

function send(message: FromLauncher) {
  // The agent may be going at this very moment, which the end of the channel tells. Without a callback a message that it is no
  // longer there to take would end this process, and the engine with it.
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

function signalGroup(pid: number, signal: NodeJS.Signals) {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended by itself.
  }
}
