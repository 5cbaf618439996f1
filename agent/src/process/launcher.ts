import { type ChildProcess, fork } from 'node:child_process'
import { Readable } from 'node:stream'
import type { Exit, FromLauncher, LaunchSpec, StreamName, ToLauncher } from './launcher-process.ts'

/** Idle time after which the launcher process ends, in ms. The next launch starts it again. */
const IDLE_MS = 60_000

/** A started process; both promises reject and both streams fail when the launcher dies. */
type Launched = {
  pid: number
  stdout: Readable
  stderr: Readable
  exited: Promise<Exit>
  /** Resolves after the exit, when its pipes are closed. */
  closed: Promise<void>
}

/** Starts processes from a small helper. Forking the server would block it for 6 ms at 150 MB and 60 ms at 370 MB, four times per run. */
export type Launcher = Disposable & {
  launch: (spec: LaunchSpec) => Promise<Launched>
  /** Kills all processes of a user, including those outside their group. Rejects when some survive. */
  clear: (uid: number) => Promise<void>
}

type Running = ReturnType<typeof follow>
type Opened = { child: ChildProcess; running: Map<number, Running> }

/** `wrapper` is a command that limits the launcher and so all its children. */
export function createLauncher(wrapper: readonly string[] = []): Launcher {
  let current: Opened | undefined
  let lastId = 0
  let idle: NodeJS.Timeout | undefined

  function open(): Opened {
    const child = forkLauncher(wrapper)
    const running = new Map<number, Running>()
    const opened = { child, running }
    const fail = (error: Error) => {
      if (current === opened) current = undefined
      for (const process of running.values()) process.fail(error)
      running.clear()
    }
    child.on('error', fail)
    child.on('exit', () => fail(new Error('the launcher process has died')))
    child.on('message', (message) => {
      const report = message as FromLauncher // its only sender is launcher-process.ts
      running.get(report.id)?.receive(report)
      if (!['closed', 'failed', 'cleared'].includes(report.event)) return
      running.delete(report.id)
      if (running.size > 0) return
      clearTimeout(idle)
      hold(child, 'unref')
      idle = setTimeout(end, IDLE_MS).unref()
    })
    return opened
  }

  function end() {
    if (current?.child.connected === true) {
      hold(current.child, 'unref')
      current.child.disconnect()
    }
    current = undefined
  }

  function send(request: (id: number) => ToLauncher): Running {
    clearTimeout(idle)
    const { child, running } = (current ??= open())
    const id = (lastId += 1)
    hold(child, 'ref')
    const process = follow((action, stream) => child.send({ id, action, stream } satisfies ToLauncher, () => {}))
    running.set(id, process)
    child.send(request(id), (error) => error && process.fail(error))
    return process
  }

  return {
    launch: (spec) => send((id) => ({ id, action: 'launch', spec })).started,
    clear: (uid) => send((id) => ({ id, action: 'clear', uid })).cleared,
    [Symbol.dispose]() {
      clearTimeout(idle)
      end()
    },
  }
}

function forkLauncher([command, ...args]: readonly string[]) {
  // A package has the bundled program next to this file.
  const script = import.meta.url.endsWith('.ts') ? './launcher-process.ts' : './launcher-process.js'
  return fork(new URL(script, import.meta.url), {
    cwd: '/',
    detached: true,
    env: {},
    ...(command === undefined ? { execArgv: [] } : { execPath: command, execArgv: [...args, process.execPath] }),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

/** Keeps this process alive only while the launcher has something to report. */
function hold(child: ChildProcess, action: 'ref' | 'unref') {
  child[action]()
  child.channel?.[action]()
}

type Control = (action: 'pause' | 'resume', stream: StreamName) => void

/** Turns the launcher's reports about one process into promises and streams. */
function follow(control: Control) {
  const started = Promise.withResolvers<Launched>()
  const exited = Promise.withResolvers<Exit>()
  const closed = Promise.withResolvers<void>()
  const cleared = Promise.withResolvers<void>()
  // Each of them can be awaited separately.
  for (const { promise } of [started, exited, closed, cleared]) promise.catch(() => {})
  const streams = { stdout: received('stdout', control), stderr: received('stderr', control) }
  const { readable: stdout } = streams.stdout
  const { readable: stderr } = streams.stderr

  return {
    started: started.promise,
    cleared: cleared.promise,
    receive(report: FromLauncher) {
      switch (report.event) {
        case 'started':
          return started.resolve({ pid: report.pid, stdout, stderr, exited: exited.promise, closed: closed.promise })
        case 'failed':
          return started.reject(new Error(report.message))
        case 'output':
          return streams[report.stream].take(report.bytes)
        case 'end':
          return void streams[report.stream].readable.push(null)
        case 'exit':
          return exited.resolve(report.exit)
        case 'closed':
          return closed.resolve()
        case 'cleared':
          if (report.left.length === 0) return cleared.resolve()
          return cleared.reject(new Error(`the processes ${report.left.join(', ')} cannot be killed`))
      }
    },
    fail(error: Error) {
      for (const { reject } of [started, exited, closed, cleared]) reject(error)
      for (const readable of [stdout, stderr]) {
        // A stream may have no reader.
        readable.once('error', () => {})
        readable.destroy(error)
      }
    },
  }
}

/** One stream of a process; `take` applies back-pressure to the launcher while it is not read. */
function received(name: StreamName, control: Control) {
  let paused = false
  const readable = new Readable({
    read() {
      if (!paused) return
      paused = false
      control('resume', name)
    },
  })
  return {
    readable,
    take(bytes: Uint8Array) {
      if (readable.push(bytes) || paused) return
      paused = true
      control('pause', name)
    },
  }
}
