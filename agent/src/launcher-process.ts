import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'

/** The program of the launcher, see `launcher.ts`. It imports next to nothing: its size is what each start of an engine costs. */

export type LaunchSpec = {
  file: string
  args: string[]
  cwd: string
  env: Record<string, string>
  /** A file that gets standard output in place of the agent. */
  stdoutFile?: string
}
/** How a process ended: one of the two is null. */
export type Exit = { code: number | null; signal: NodeJS.Signals | null }

export type StreamName = 'stdout' | 'stderr'

export type ToLauncher =
  | { id: number; action: 'launch'; spec: LaunchSpec }
  /** Holds a stream back, and the process that writes to it, until it is wanted again. */
  | { id: number; action: 'pause' | 'resume'; stream: StreamName }

/** In this order: started, output and ends, closed; an exit comes at any time after the start. */
export type FromLauncher =
  | { id: number; event: 'started'; pid: number }
  | { id: number; event: 'failed'; message: string }
  | { id: number; event: 'output'; stream: StreamName; bytes: Uint8Array }
  | { id: number; event: 'end'; stream: StreamName }
  | { id: number; event: 'exit'; exit: Exit }
  | { id: number; event: 'closed' }

const children = new Map<number, ChildProcess>()

// What a terminal sends to everything at once is the agent's to decide about.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

process.on('message', (message) => {
  const request = message as ToLauncher // its only sender is launcher.ts
  if (request.action === 'launch') return launch(request.id, request.spec)
  children.get(request.id)?.[request.stream]?.[request.action]()
})

// The agent is gone, however it ended: what it started must not go on behind the server's back.
process.on('disconnect', () => {
  for (const { pid } of children.values()) if (pid !== undefined) killGroup(pid)
  process.exit()
})

function launch(id: number, { file, args, cwd, env, stdoutFile }: LaunchSpec) {
  try {
    const output = stdoutFile === undefined ? undefined : openSync(stdoutFile, 'w', 0o600)
    try {
      follow(id, spawn(file, args, { cwd, env, detached: true, stdio: ['ignore', output ?? 'pipe', 'pipe'] }))
    } finally {
      if (output !== undefined) closeSync(output)
    }
  } catch (error) {
    sendFailure(id, error)
  }
}

function follow(id: number, child: ChildProcess) {
  child.once('error', (error) => sendFailure(id, error))
  if (child.pid === undefined) return
  children.set(id, child)
  send({ id, event: 'started', pid: child.pid })
  forward(id, 'stdout', child.stdout)
  forward(id, 'stderr', child.stderr)
  child.once('exit', (code, signal) => send({ id, event: 'exit', exit: { code, signal } }))
  child.once('close', () => {
    children.delete(id)
    send({ id, event: 'closed' })
  })
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
  if (process.connected) process.send?.(message)
}

function killGroup(pid: number) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
