import { type ChildProcess, fork } from 'node:child_process'
import { Readable } from 'node:stream'
import type { Exit, FromLauncher, LaunchSpec, StreamName, ToLauncher } from './launcher-process.ts'

/** Without an engine for this long the launcher's process ends, in ms; the next one starts it again. */
const IDLE_MS = 60_000

/** A process that the launcher has started; both promises reject, and both streams fail, when the launcher dies. */
type Launched = {
  pid: number
  stdout: Readable
  stderr: Readable
  exited: Promise<Exit>
  /** Resolves when it has ended and its pipes are closed. */
  closed: Promise<void>
}

/**
 * Starts processes from a small helper process. Forking from the server itself would copy its page
 * tables and block meanwhile: some 6 ms at 150 MB and 60 ms at 370 MB, for each of the four engines of a run.
 */
export type Launcher = Disposable & {
  /** Starts a process in a new process group. Rejects when it can't be started. */
  launch: (spec: LaunchSpec) => Promise<Launched>
  /** Kills all processes of a user, including those outside their group. Rejects when some survive. */
  clear: (uid: number) => Promise<void>
}

/** `wrapper` is a command that starts the launcher, and thereby all its children, under limits. */
export function createLauncher(wrapper: readonly string[] = []): Launcher {
  let current: Opened | undefined
  let lastId = 0
  let idle: NodeJS.Timeout | undefined

  function end() {
    if (current?.child.connected === true) {
      hold(current.child, 'unref')
      current.child.disconnect()
    }
    current = undefined
  }

  function opened(): Opened {
    clearTimeout(idle)
    current ??= open(wrapper, {
      onIdle(idler) {
        clearTimeout(idle)
        hold(idler.child, 'unref')
        idle = setTimeout(end, IDLE_MS).unref()
      },
      onGone(gone) {
        if (current === gone) current = undefined
      },
    })
    return current
  }

  function ask(request: (id: number) => ToLauncher): Running {
    const { child, running } = opened()
    lastId += 1
    const id = lastId
    hold(child, 'ref')
    const process = follow((action, stream) => child.send({ id, action, stream } satisfies ToLauncher, () => {}))
    running.set(id, process)
    child.send(request(id), (error) => {
      if (error) process.fail(error)
    })
    return process
  }

  return {
    launch: (spec) => ask((id) => ({ id, action: 'launch', spec })).started,
    clear: (uid) => ask((id) => ({ id, action: 'clear', uid })).cleared,
    [Symbol.dispose]() {
      clearTimeout(idle)
      end()
    },
  }
}

type Opened = { child: ChildProcess; running: Map<number, Running> }

/** Keeps this process alive only while the launcher has something to report. */
function hold(child: ChildProcess, action: 'ref' | 'unref') {
  child[action]()
  child.channel?.[action]()
}

function open(
  wrapper: readonly string[],
  { onIdle, onGone }: { onIdle: (idler: Opened) => void; onGone: (gone: Opened) => void },
): Opened {
  // A published package has the program as a bundled script next to this one.
  const script = import.meta.url.endsWith('.ts') ? './launcher-process.ts' : './launcher-process.js'
  const [command, ...args] = wrapper
  const child = fork(new URL(script, import.meta.url), {
    cwd: '/',
    detached: true,
    env: {},
    ...(command === undefined ? { execArgv: [] } : { execPath: command, execArgv: [...args, process.execPath] }),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const running = new Map<number, Running>()
  const opened = { child, running }
  const gone = (error: Error) => {
    onGone(opened)
    for (const process of running.values()) process.fail(error)
    running.clear()
  }
  child.on('error', gone)
  child.on('exit', () => gone(new Error('the process that starts engines has died')))
  child.on('message', (message) => {
    const report = message as FromLauncher // its only sender is launcher-process.ts
    running.get(report.id)?.receive(report)
    if (!['closed', 'failed', 'cleared'].includes(report.event)) return
    running.delete(report.id)
    if (running.size === 0) onIdle(opened)
  })
  return opened
}

type Running = {
  started: Promise<Launched>
  cleared: Promise<void>
  receive: (report: FromLauncher) => void
  fail: (error: Error) => void
}

function follow(control: (action: 'pause' | 'resume', stream: StreamName) => void): Running {
  const started = Promise.withResolvers<Launched>()
  const exited = Promise.withResolvers<Exit>()
  const closed = Promise.withResolvers<void>()
  const cleared = Promise.withResolvers<void>()
  // Each of them can be awaited separately.
  for (const { promise } of [started, exited, closed, cleared]) promise.catch(() => {})
  const streams = { stdout: received('stdout', control), stderr: received('stderr', control) }

  return {
    started: started.promise,
    cleared: cleared.promise,
    receive(report) {
      switch (report.event) {
        case 'started':
          return started.resolve({
            pid: report.pid,
            stdout: streams.stdout.readable,
            stderr: streams.stderr.readable,
            exited: exited.promise,
            closed: closed.promise,
          })
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
          return cleared.reject(new Error(`the processes ${report.left.join(', ')} can't be ended`))
      }
    },
    fail(error) {
      for (const { reject } of [started, exited, closed, cleared]) reject(error)
      for (const { readable } of Object.values(streams)) {
        // It may have no reader.
        readable.once('error', () => {})
        readable.destroy(error)
      }
    },
  }
}

/** One stream of a process; `take` applies back-pressure to the launcher while it is not read. */
function received(name: StreamName, control: (action: 'pause' | 'resume', stream: StreamName) => void) {
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
