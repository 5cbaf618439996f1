import { createHash } from 'node:crypto'
import { mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { tryClaim } from '../process/claim.ts'
import { untilAborted } from '../process/process.ts'
import { packedBytes, removeTemporaries, runGit } from './command.ts'
import { GitError } from './errors.ts'
import type { Session } from './session.ts'

const POLL_MS = 100
/** Beyond, packs of many fetches are merged. */
const MAX_PACKS = 100

/** Holders of entries in this process, in the order of their requests. */
const queues = new Map<string, Promise<unknown>>()

/** The directory of a repository in the cache. `key` may be any text. */
export const entryOf = (cacheDir: string, key: string) =>
  join(cacheDir, createHash('sha256').update(key).digest('hex').slice(0, 40))

/** Waits until no one else, in this process or another on this host, uses the entry. Throws the reason of an abort. */
export async function lockEntry(entry: string, signal: AbortSignal): Promise<AsyncDisposable> {
  const released = Promise.withResolvers<void>()
  const former = queues.get(entry)
  const queue = Promise.resolve(former).then(() => released.promise)
  queues.set(entry, queue)
  void queue.then(() => queues.get(entry) === queue && queues.delete(entry))
  await using stack = new AsyncDisposableStack()
  stack.defer(released.resolve)
  if (former !== undefined) await untilAborted(former, signal)
  await mkdir(entry, { recursive: true, mode: 0o700 })
  for (;;) {
    const attempt = await tryClaim(entry, 'lock')
    if (attempt?.claim) {
      stack.use(attempt.claim)
      return stack.move()
    }
    await pause(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/** The bare repository of a locked entry, created if there is none, or a damaged one. */
export async function prepareRepository(entry: string, session: Session): Promise<string> {
  const gitDir = join(entry, 'git')
  await utimes(entry, new Date(), new Date())
  await removeTemporaries(gitDir)
  const isUsable = await isRepository(gitDir, session)
  if (!isUsable) await recreateRepository(gitDir, session)
  else if (await hasManyPacks(gitDir)) {
    const { code } = await session.run({ args: ['gc', '--quiet', '--prune=now'], gitDir })
    if (code !== 0) await recreateRepository(gitDir, session)
  }
  return gitDir
}

/** Written last, and removed when the repository is found to be damaged. */
const COMPLETE = 'groundstate-complete'

async function isRepository(gitDir: string, session: Session) {
  if (!(await exists(join(gitDir, COMPLETE))) || !(await exists(join(gitDir, 'HEAD')))) return false
  const { code } = await runGit(
    session.local({ args: ['for-each-ref', '--count=1', '--format=%(objecttype)'], gitDir }),
  )
  return code === 0
}

async function hasManyPacks(gitDir: string) {
  const names = await readdir(join(gitDir, 'objects/pack')).catch(() => [])
  return names.filter((name) => name.endsWith('.pack')).length > MAX_PACKS
}

/** Starts with an empty repository. */
export async function recreateRepository(gitDir: string, session: Session) {
  await rm(gitDir, { recursive: true, force: true })
  const { code, stderr } = await runGit(
    session.local({ args: ['init', '--bare', '--quiet', '--template=', '--', gitDir] }),
  )
  if (code !== 0)
    throw new GitError('unreachable', 'the directory for repositories is not usable', { cause: new Error(stderr) })
  await mkdir(join(gitDir, 'info'), { recursive: true })
  // Archives hold what a checkout does.
  await writeFile(join(gitDir, 'info/attributes'), '* -export-ignore -export-subst\n')
  await writeFile(join(gitDir, COMPLETE), '')
}

/** The next use of the repository starts with an empty one. */
export async function markDamaged(gitDir: string) {
  await rm(join(gitDir, COMPLETE), { force: true })
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Removes the repositories that have not been used for longest until the rest has at most `maxBytes`. Those in use stay. */
export async function evictRepositories(cacheDir: string, maxBytes: number) {
  const entries = await Promise.all(
    (await readdir(cacheDir).catch(() => [])).map(async (name) => {
      const entry = join(cacheDir, name)
      const used = await stat(entry).catch(() => undefined)
      return { entry, usedAt: used?.mtimeMs ?? 0, bytes: await packedBytes(join(entry, 'git')) }
    }),
  )
  let bytes = entries.reduce((sum, each) => sum + each.bytes, 0)
  for (const each of entries.sort((a, b) => a.usedAt - b.usedAt)) {
    if (bytes <= maxBytes) return
    if (each.bytes === 0 || queues.has(each.entry)) continue
    // Another process may use it: without a wait.
    const lock = await lockEntry(each.entry, AbortSignal.abort()).catch(() => undefined)
    if (lock === undefined) continue
    await using _ = lock
    await rm(join(each.entry, 'git'), { recursive: true, force: true })
    bytes -= each.bytes
  }
}
