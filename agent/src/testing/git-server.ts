import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryDirectory } from './agent-fixture.ts'

const ENVIRONMENT = {
  PATH: process.env['PATH'] ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_AUTHOR_DATE: '1700000000 +0000',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  GIT_COMMITTER_DATE: '1700000000 +0000',
}

export type TestRepository = ReturnType<typeof makeRepository>

/** A repository in a directory, with a working tree in which to commit. A host serves it as `<name>`. */
export function makeRepository(root: string, name: string) {
  const directory = join(root, name)
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: directory, env: ENVIRONMENT, encoding: 'utf8' }).trim()
  mkdirSync(directory, { recursive: true })
  git('init', '--quiet', '--initial-branch=main')
  git('config', 'uploadpack.allowFilter', 'true')

  return {
    directory,
    git,
    /** Writes files, removes those that are null, links those that begin with `-> `, and commits. Returns the commit. */
    commit(files: Record<string, string | Buffer | null>, message = 'Change') {
      for (const [path, content] of Object.entries(files)) {
        const file = join(directory, path)
        mkdirSync(dirname(file), { recursive: true })
        rmSync(file, { force: true })
        if (typeof content === 'string' && content.startsWith('-> ')) symlinkSync(content.slice(3), file)
        else if (content !== null) writeFileSync(file, content)
      }
      git('add', '--all')
      git('commit', '--quiet', '--allow-empty', '--message', message)
      return git('rev-parse', 'HEAD')
    },
    /** Adds the commit of another repository as a submodule at a path. */
    addSubmodule(path: string, url: string, sha: string) {
      git('config', '--file', '.gitmodules', `submodule.${path}.path`, path)
      git('config', '--file', '.gitmodules', `submodule.${path}.url`, url)
      git('update-index', '--add', '--cacheinfo', `160000,${sha},${path}`)
      mkdirSync(join(directory, path), { recursive: true })
      git('add', '.gitmodules')
      git('commit', '--quiet', '--message', `Add ${path}`)
      return git('rev-parse', 'HEAD')
    },
  }
}

export type GitServerOptions = {
  /** Answers instead of git if it returns true. */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean
  tls?: { cert: string; key: string }
  /** Responses stop after as many bytes, without an end. */
  holdAfter?: () => number
}

export const USER = { username: 'ada', password: 's3cret-t0ken' }

/** Serves the repositories of a directory through `git http-backend` to `USER`, until the end of the test. */
export async function serveGit({ intercept, tls, holdAfter = () => Infinity }: GitServerOptions = {}) {
  const root = await temporaryDirectory()
  const requests: { method: string; path: string; authorization: string | undefined }[] = []
  const expected = `Basic ${Buffer.from(`${USER.username}:${USER.password}`).toString('base64')}`

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const { authorization } = request.headers
    requests.push({ method: request.method ?? '', path: request.url ?? '', authorization })
    if (intercept?.(request, response)) return
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (authorization === expected || pathname.startsWith('/public'))
      return runBackend(root, request, response, holdAfter())
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
  }
  const server = tls ? createTlsServer(tls, listener) : createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { root, port, url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, requests }
}

function runBackend(root: string, request: IncomingMessage, response: ServerResponse, maxBytes: number) {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost')
  const header = (name: string) => String(request.headers[name] ?? '')
  const backend = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      ...ENVIRONMENT,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: header('content-type'),
      CONTENT_LENGTH: header('content-length'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      GIT_PROTOCOL: header('git-protocol'),
      REMOTE_USER: USER.username,
    },
  })
  backend.stdin.on('error', () => {})
  request.pipe(backend.stdin)
  response.on('close', () => backend.kill())
  let head: Buffer = Buffer.alloc(0)
  let bytes = 0
  backend.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) return
    if (response.headersSent) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    const lines = head
      .toString('utf8', 0, end)
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string])
    const status = lines.find(([name]) => name === 'Status')?.[1]
    response.writeHead(
      Number.parseInt(status ?? '200', 10),
      Object.fromEntries(lines.filter(([name]) => name !== 'Status')),
    )
    response.write(head.subarray(end + 4))
  })
  backend.once('close', () => bytes <= maxBytes && response.end())
}
