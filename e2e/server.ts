import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from '../server/src/testing/cleanup.ts'

const ROOT = join(import.meta.dirname, '..')
export const ADMIN_TOKEN = 'e2e-admin-token-of-the-first-administrator'

/** Timeout of a request, in ms. */
const MAX_RESPONSE_MS = 30_000

export type BootedServer = {
  url: string
  dataDir: string
  pid: number
  output: () => string
  /** The password of the first administrator, which the first start prints. */
  adminPassword: () => string
  /** Sends a request to the API as the administrator; throws on a status of 400 or more unless `expect` has it. */
  api: (method: string, path: string, body?: unknown, options?: { token?: string; expect?: number }) => Promise<any>
  stop: (signal?: NodeJS.Signals) => Promise<number | null>
  /** Resolves when the current process has exited. */
  ended: () => Promise<void>
  /** Restarts it on the same data directory and port. */
  restart: () => Promise<void>
}

/** `command` comes before the server's own, as `ip netns exec` does. `program` is that of the clone, `port` a free one by default. */
type BootOptions = { command?: readonly string[]; program?: string; port?: number }

/** Starts the real server as a process on a new data directory; both are removed at the end of the file. */
export async function bootServer(
  settings: Record<string, string> = {},
  { command = [], program = join(ROOT, 'server/bin/groundstate'), port }: BootOptions = {},
): Promise<BootedServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'groundstate-e2e-'))
  let output = ''
  let child: ChildProcess

  async function start(onPort: string) {
    const [first, ...args] = [...command, program, 'serve']
    child = spawn(first, args, {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        GROUNDSTATE_DATA_DIR: dataDir,
        GROUNDSTATE_ADMIN_TOKEN: ADMIN_TOKEN,
        GROUNDSTATE_LOG_LEVEL: 'info',
        ...settings,
        GROUNDSTATE_PORT: onPort,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const started = child
    return new Promise<string>((resolve, reject) => {
      const onData = (data: Buffer) => {
        output += data.toString()
        const ready = /ready at (https?:\/\/\S+)/.exec(output)
        if (ready?.[1] !== undefined) resolve(ready[1])
      }
      started.stdout?.on('data', onData)
      started.stderr?.on('data', onData)
      started.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${output}`)))
    })
  }

  atEnd(async () => {
    child.kill('SIGTERM')
    await endOf(child)
    await rm(dataDir, { recursive: true, force: true })
  })
  const url = await start(String(port ?? 0))
  const server: BootedServer = {
    url,
    dataDir,
    get pid() {
      return child.pid ?? 0
    },
    output: () => output,
    adminPassword: () => /^ +password +(\S+)$/m.exec(output)?.[1] ?? '',
    async api(method, path, body, options = {}) {
      const response = await fetch(path.startsWith('http') ? path : `${url}/api/v2${path}`, {
        method,
        headers: {
          authorization: `Bearer ${options.token ?? ADMIN_TOKEN}`,
          ...(body !== undefined && { 'content-type': 'application/vnd.api+json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(MAX_RESPONSE_MS),
      })
      const text = await response.text()
      if (options.expect === undefined ? response.status >= 400 : response.status !== options.expect) {
        throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
      }
      return text === '' ? undefined : (JSON.parse(text) as unknown)
    },
    stop: async (signal = 'SIGTERM') =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve(child.exitCode)
        child.once('exit', (code) => resolve(code))
        child.kill(signal)
      }),
    ended: async () => endOf(child),
    async restart() {
      output = ''
      await start(port === undefined ? new URL(url).port : String(port))
    },
  }
  return server
}

/** Resolves when a process has exited for any reason. */
export async function endOf(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise((resolve) => child.once('exit', resolve))
}
