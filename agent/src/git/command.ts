import { type ChildProcess, spawn } from 'node:child_process'
import { readdir, rm, stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { codeOf } from '../process/errors.ts'
import { GitError } from './errors.ts'

export type GitLimits = {
  /** Without progress for as long, a command ends. */
  idleMs: number
  /** Total time of a command. */
  totalMs: number
  /** Size of the fetched objects of a repository, in bytes. */
  repositoryBytes: number
}

export const GIT_LIMITS: GitLimits = { idleMs: 60_000, totalMs: 30 * 60_000, repositoryBytes: 2 * 1024 ** 3 }

export type GitTask = {
  args: string[]
  cwd: string
  env: Record<string, string>
  input: string | undefined
  /** Maximum size of the output that `runGit` returns, in bytes. */
  maxBytes: number | undefined
  /** The repository whose size is watched. */
  gitDir: string | undefined
  signal: AbortSignal
  limits: GitLimits
  /** For messages. */
  url: string
}

export type GitOutput = { code: number; stdout: Buffer; stderr: string }

export type RunningGit = {
  stdout: Readable
  /** Resolves when no process of the group is left. Throws the reason for which it was ended. */
  finished: Promise<{ code: number; stderr: string }>
  /** Ends git without an error: the rest of its output is not needed. */
  stop: () => void
}

const MAX_STDERR = 64 * 1024
const MAX_STDOUT = 64 * 1024 ** 2

/** Runs git to its end. Throws a `GitError` if a limit was exceeded, and the reason of an abort. */
export async function runGit(task: GitTask): Promise<GitOutput> {
  const git = startGit(task)
  const maxBytes = task.maxBytes ?? MAX_STDOUT
  const chunks: Buffer[] = []
  let size = 0
  git.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > maxBytes) git.stop()
    else chunks.push(chunk)
  })
  const { code, stderr } = await git.finished
  if (size > maxBytes) throw new GitError('too-large', `git's answer about ${task.url} exceeds ${maxBytes} bytes`)
  return { code, stdout: Buffer.concat(chunks), stderr }
}

/** Starts git in a new process group, which is killed on an abort, without progress, or when its repository grows too large. */
export function startGit({ args, cwd, env, input, gitDir, signal, limits, url }: GitTask): RunningGit {
  signal.throwIfAborted()
  const child = spawn('git', args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  let problem: unknown
  let isStopped = false
  let stderr = ''
  let lastSize = 0
  let lastRead = 0
  let lastProgress = performance.now()
  const deadline = lastProgress + limits.totalMs

  const end = () => {
    killGroup(child)
    // Unread output would delay the end of the process.
    child.stdout.destroy()
  }
  const kill = (reason: unknown) => {
    problem ??= reason
    end()
  }
  const onAbort = () => kill(signal.reason)
  signal.addEventListener('abort', onAbort)
  const progress = () => {
    lastProgress = performance.now()
  }
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    progress()
    stderr = (stderr + text).slice(-MAX_STDERR)
  })
  // Git may exit before it has read everything.
  child.stdin.on('error', () => {})
  child.stdin.end(input)

  const checkSize = async () => {
    const size = gitDir === undefined ? 0 : await packedBytes(gitDir)
    if (size > limits.repositoryBytes) kill(tooLarge(url, limits.repositoryBytes))
    if (size !== lastSize) progress()
    lastSize = size
  }
  const watch = setInterval(
    () => {
      const { bytesRead } = child.stdout as Socket
      // A full pipe waits for this process.
      if (bytesRead !== lastRead || child.stdout.readableLength > 0) progress()
      lastRead = bytesRead
      const now = performance.now()
      const seconds = Math.round(limits.idleMs / 1000)
      if (now > deadline) kill(new GitError('timed-out', `git took more than ${limits.totalMs / 1000} s for ${url}`))
      else if (now - lastProgress > limits.idleMs)
        kill(new GitError('timed-out', `${url} made no progress for ${seconds} s`))
      // The directory may be removed meanwhile.
      else checkSize().catch(() => {})
    },
    Math.min(500, limits.idleMs / 4),
  )

  const closed = Promise.withResolvers<{ code: number; stderr: string }>()
  child.once('error', (error) => {
    problem ??=
      codeOf(error) === 'ENOENT'
        ? new GitError(
            'invalid',
            'git is not installed on this host: install git 2.38 or later, and ssh for ssh URLs',
            { cause: error },
          )
        : error
    closed.reject(problem)
  })
  child.once('close', (code) => {
    if (problem !== undefined) closed.reject(problem)
    else closed.resolve({ code: isStopped ? 0 : (code ?? -1), stderr })
  })
  const finish = async () => {
    try {
      return await closed.promise
    } finally {
      clearInterval(watch)
      signal.removeEventListener('abort', onAbort)
      // Helpers of git, such as ssh, may remain.
      killGroup(child)
      if (gitDir !== undefined && problem !== undefined) await removeTemporaries(gitDir)
    }
  }
  const finished = finish().then(async (exit) => {
    if (gitDir !== undefined && (await packedBytes(gitDir)) > limits.repositoryBytes)
      throw tooLarge(url, limits.repositoryBytes)
    return exit
  })
  // A consumer of `stdout` may see its end first.
  finished.catch(() => {})
  const stop = () => {
    isStopped = true
    end()
  }
  return { stdout: child.stdout, finished, stop }
}

function tooLarge(url: string, bytes: number) {
  return new GitError('too-large', `the repository ${url} is larger than ${bytes} bytes, the limit for repositories`)
}

function killGroup({ pid }: ChildProcess) {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

/** Size of all packs in bytes, with those that are being received. */
export async function packedBytes(gitDir: string): Promise<number> {
  const directory = join(gitDir, 'objects/pack')
  const names = await readdir(directory).catch(() => [])
  const sizes = names.map((name) =>
    stat(join(directory, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** Removes what a killed git leaves: partial packs and lock files. */
export async function removeTemporaries(gitDir: string) {
  const names = await readdir(gitDir, { recursive: true }).catch(() => [])
  const isTemporary = (name: string) =>
    /(?:^|\/)tmp_(?:pack|idx|rev|obj)_[^/]*$|\.lock$|\/\.tmp-[^/]*$|^gc\.pid$/.test(name)
  for (const name of names.filter(isTemporary)) await rm(join(gitDir, name), { force: true })
}
