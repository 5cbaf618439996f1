import { createHash } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { entryOf, evictRepositories, lockEntry, markDamaged, prepareRepository, recreateRepository } from './cache.ts'
import { GIT_LIMITS, type GitLimits, type GitOutput, packedBytes, runGit } from './command.ts'
import { GitError, isDamaged } from './errors.ts'
import { checkRef, checkSha } from './refs.ts'
import type { Remote } from './remote.ts'
import { type Session, type SessionTask, openSession } from './session.ts'

export type OpenRepository = {
  /** Directory of the cache, on this host's disk. */
  cacheDir: string
  /** Identifies the repository with those who may read it: what was fetched for a key can be read with it, whatever the credential. */
  key: string
  remote: Remote
  signal: AbortSignal
  limits?: GitLimits
  /** Size of all repositories in the cache, in bytes. Those used least recently are removed when a repository is closed. */
  maxCacheBytes?: number
}

/**
 * A bare copy of a remote repository: commits and trees of what was fetched, and files as they were needed. No one else uses it until it is
 * disposed of.
 */
export type Repository = AsyncDisposable & {
  readonly session: Session
  readonly gitDir: string
  readonly input: OpenRepository
  /** Commits that this use has asked for, and the refs where they were seen. */
  readonly requested: Map<string, string | undefined>
}

const MAX_CACHE_BYTES = 10 * 1024 ** 3

/**
 * Opens the copy of a repository, waiting for others that use it. Throws a `GitError` for a URL that is not allowed, and the reason of an
 * abort.
 */
export async function openRepository(input: OpenRepository): Promise<Repository> {
  const { cacheDir, key, remote, signal, limits = GIT_LIMITS, maxCacheBytes = MAX_CACHE_BYTES } = input
  const entry = entryOf(cacheDir, key)
  await using stack = new AsyncDisposableStack()
  stack.defer(() => evictRepositories(cacheDir, maxCacheBytes))
  stack.use(await lockEntry(entry, signal))
  const session = stack.use(await openSession(remote, signal, limits))
  const gitDir = await prepareRepository(entry, session)
  const cleanup = stack.move()
  return { session, gitDir, input, requested: new Map(), [Symbol.asyncDispose]: () => cleanup.disposeAsync() }
}

/** Runs a command that may fetch missing files. Throws a `GitError` unless its exit code is accepted. */
export async function connectedGit(repository: Repository, task: SessionTask, accept = [0]): Promise<GitOutput> {
  const { session, gitDir } = repository
  const attempt = await session.run({ ...task, gitDir })
  if (accept.includes(attempt.code)) return attempt
  if (!/unadvertised object/.test(attempt.stderr)) throw await failureIn(repository, attempt.stderr)
  // Without git's second protocol, which sshd must be configured for, a host may filter files but not serve them by name.
  await writeFile(join(gitDir, WHOLE), '')
  const whole = await session.run({
    args: [...FETCH, '--no-filter', '--refetch', '--', 'origin', '+refs/*:refs/all/*'],
    gitDir,
  })
  const output = whole.code === 0 ? await session.run({ ...task, gitDir }) : whole
  if (!accept.includes(output.code)) throw await failureIn(repository, output.stderr)
  return output
}

/** Runs a command that needs commits and trees only. Throws a `GitError` if it fails. */
export async function localGit(repository: Repository, task: SessionTask, accept = [0]): Promise<GitOutput> {
  const output = await runGit(repository.session.local({ ...task, gitDir: repository.gitDir }))
  if (!accept.includes(output.code)) throw await failureIn(repository, output.stderr)
  return output
}

/** The error for a failed command. A damaged copy is replaced at its next use. */
export async function failureIn({ session, gitDir }: Repository, stderr: string): Promise<GitError> {
  if (!isDamaged(stderr)) return session.failure(stderr)
  await markDamaged(gitDir)
  return new GitError('unreachable', `the copy of ${session.remote.url} is damaged, the next attempt fetches it again`)
}

/**
 * Fetches a commit with its history, unless the copy has it. `ref` is where it was seen, for hosts that do not serve commits by name. Throws
 * a `GitError`: `not-found` if the host has no such commit.
 */
export async function fetchCommit(repository: Repository, sha: string, ref?: string) {
  checkSha(sha)
  if (ref !== undefined) checkRef(ref)
  const { session, gitDir, requested } = repository
  requested.set(sha, ref)
  const hasEarlier = (await packedBytes(gitDir)) > 0
  try {
    if (await tryFetch(repository, sha, ref)) return
  } catch (error) {
    // What has collected from earlier fetches may be too large where the repository is not.
    if (!(error instanceof GitError) || error.kind !== 'too-large' || !hasEarlier) throw error
  }
  await recreateRepository(gitDir, session)
  for (const [each, seenAt] of requested)
    if (!(await tryFetch(repository, each, seenAt)))
      throw new GitError('unreachable', `git cannot store what ${session.remote.url} sends`)
}

/** False if the local copy is damaged. */
async function tryFetch(repository: Repository, sha: string, ref: string | undefined): Promise<boolean> {
  if (await hasCommit(repository, sha)) return true
  // Refs are what the next fetch need not send again.
  const tip = `refs/tips/${createHash('sha256')
    .update(ref ?? sha)
    .digest('hex')
    .slice(0, 20)}`
  const byRef = ref === undefined ? ['+refs/heads/*:refs/branches/*', '+refs/tags/*:refs/tags/*'] : [`+${ref}:${tip}`]
  for (const refspecs of [[`+${sha}:${tip}`], byRef]) {
    const { code, stderr } = await fetch(repository, refspecs)
    if (code === 0) {
      if (await hasCommit(repository, sha)) return true
    } else if (!/not our ref|unadvertised object|couldn't find remote ref|no such ref/i.test(stderr)) {
      if (isDamaged(stderr)) return false
      throw repository.session.failure(stderr)
    }
  }
  throw new GitError(
    'not-found',
    `${repository.session.remote.url} has no commit ${sha}${ref === undefined ? '' : ` at ${ref}`}`,
  )
}

const FETCH = ['fetch', '--progress', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules']
/** File of a repository that is fetched with all files. */
const WHOLE = 'groundstate-whole'

async function fetch({ session, gitDir }: Repository, refspecs: string[]) {
  const isWhole = (await readdir(gitDir)).includes(WHOLE)
  const filter = isWhole ? '--no-filter' : '--filter=blob:none'
  return session.run({ args: [...FETCH, filter, '--', 'origin', ...refspecs], gitDir })
}

/** Throws a `GitError`: `not-found` unless the copy has all of these commits or trees. */
export async function requireObjects(repository: Repository, ...shas: string[]) {
  for (const sha of shas) checkSha(sha)
  const { stdout } = await localGit(repository, { args: ['cat-file', '--batch-check'], input: `${shas.join('\n')}\n` })
  const [, missing] = /^([0-9a-f]{40}) missing$/m.exec(stdout.toString()) ?? []
  if (missing === undefined) return
  throw new GitError('not-found', `${missing} has not been fetched from ${repository.session.remote.url}`)
}

async function hasCommit({ session, gitDir }: Repository, sha: string): Promise<boolean> {
  const { code } = await runGit(session.local({ args: ['cat-file', '-e', `${sha}^{commit}`], gitDir }))
  return code === 0
}

/** Fetches the missing files of a commit or tree in one request: git itself would fetch them one by one. */
export async function fetchFiles(repository: Repository, tree: string) {
  const listed = await localGit(repository, {
    args: ['rev-list', '--objects', '--no-object-names', '--missing=print', `${tree}^{tree}`, '--'],
  })
  const missing = listed.stdout
    .toString()
    .split('\n')
    .flatMap((line) => (line.startsWith('?') ? [line.slice(1)] : []))
  if (missing.length === 0) return
  const args = ['-c', 'fetch.negotiationAlgorithm=noop', ...FETCH, '--filter=blob:none', '--stdin', '--', 'origin']
  await connectedGit(repository, { args, input: missing.map((sha) => `${sha}\n`).join('') })
}

export type CommitInfo = {
  sha: string
  tree: string
  message: string
  author: { name: string; email: string; at: Date }
}

/** Throws a `GitError`: `not-found` unless the commit has been fetched. */
export async function commitInfo(repository: Repository, sha: string): Promise<CommitInfo> {
  const [commit] = await listCommits(repository, sha, 1)
  if (!commit) throw new GitError('not-found', `${repository.session.remote.url} has no commit ${sha}`)
  return commit
}

/** Seconds until the year 10000, which ISO 8601 cannot express. Authors may write any date. */
const LATEST_DATE = 253_402_300_799
const FIELDS = ['%H', '%T', '%an', '%ae', '%at', '%B']

/** A commit and its ancestors, the latest first. Throws as `commitInfo` does. */
export async function listCommits(repository: Repository, sha: string, max: number): Promise<CommitInfo[]> {
  await requireObjects(repository, sha)
  const format = ['--no-patch', '--no-show-signature', '--encoding=UTF-8', '-z', `--format=${FIELDS.join('%x00')}`]
  const { stdout } = await localGit(repository, { args: ['log', `--max-count=${max}`, ...format, sha, '--'] })
  const values = stdout.toString().split('\0')
  return Array.from({ length: Math.floor(values.length / FIELDS.length) }, (_, index) => {
    const [commit = '', tree = '', name = '', email = '', seconds, message = ''] = values.slice(index * FIELDS.length)
    const at = new Date(Math.min(Math.max(Number(seconds), 0), LATEST_DATE) * 1000)
    return { sha: commit, tree, message: message.trimEnd(), author: { name, email, at } }
  })
}

/** The best common ancestor of two fetched commits; null if there is none. */
export async function mergeBase(repository: Repository, one: string, other: string): Promise<string | null> {
  await requireObjects(repository, one, other)
  const { stdout } = await localGit(repository, { args: ['merge-base', one, other] }, [0, 1])
  return stdout.toString().trim() || null
}
