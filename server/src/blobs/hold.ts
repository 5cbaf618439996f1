import { randomUUID } from 'node:crypto'
import { link, readdir, readFile, rm, unlink, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createFileOnce } from '../durable-file.ts'
import { codeOf, ignoring } from '../error-code.ts'
import { isAlive } from '../postgres/cluster.ts'
import { StartError } from '../start-error.ts'
import { statIfExists, unlinkIfExists } from './disk-shards.ts'

/**
 * While a backup copies blobs on disk, deleted ones keep a name in a separate directory: the copied database may still refer to them. The
 * hold is a file that its process touches, so that it ends if the process dies or is paused. Servers only read its time: they may run as
 * another user or in another container.
 */
const FILE = 'backup-hold'
const DIRECTORY = 'held'

/** Age from which a hold counts as abandoned, in ms. */
const TTL_MS = 120_000
const REFRESH_MS = 10_000

/** Directory of the deleted blobs, by file name as in `objects/`. */
export function heldDirectory(root: string) {
  return join(root, DIRECTORY)
}

/** Whether a backup is running, so that deletions must keep the blobs. */
export async function isHeld(root: string) {
  const file = await statIfExists(join(root, FILE))
  return file !== undefined && Date.now() - file.mtimeMs < TTL_MS
}

/** Removes a name of a blob; with `held`, the blob first gets that one. Returns whether the name existed. */
export async function removeName(path: string, held: string | undefined) {
  if (held !== undefined) {
    // A link, since a rename to another name of the same file would do nothing: a blob that is being moved has two.
    await link(path, held).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EEXIST') throw error
    })
  }
  return unlinkIfExists(path)
}

/** Deletes what ended backups have held. */
export async function deleteHeld(root: string) {
  const names = (await ignoring('ENOENT', readdir(heldDirectory(root)))) ?? []
  if (names.length === 0 || (await isHeld(root))) return
  for (const name of names) await unlinkIfExists(join(heldDirectory(root), name))
}

/** `check` throws a `StartError` if the hold was interrupted, so blobs may be missing. Disposing ends it, and deletes what was held. */
export type Hold = AsyncDisposable & { check: () => void }

/** Keeps deleted blobs until disposed. Throws a `StartError` while another process does. */
export async function holdDeletions(root: string): Promise<Hold> {
  const path = join(root, FILE)
  const text = `${hostname()} ${process.pid} ${randomUUID()}\n`
  await takeFile(path, text)
  let refreshedAt = Date.now()
  let isLost = false
  const refresh = async () => {
    const now = Date.now()
    if (now - refreshedAt > TTL_MS / 2) isLost = true
    const isOurs = (await readFile(path, 'utf8')) === text
    if (!isOurs) isLost = true
    if (isLost) return
    await utimes(path, now / 1000, now / 1000)
    refreshedAt = now
  }
  const timer = setInterval(() => void refresh().catch(() => void (isLost = true)), REFRESH_MS)

  return {
    check() {
      if (!isLost && Date.now() - refreshedAt <= TTL_MS / 2) return
      throw new StartError('the backup was paused for too long, so blobs may be missing from it', {
        advice: 'run it again',
      })
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      const isOurs = (await ignoring('ENOENT', readFile(path, 'utf8'))) === text
      if (!isOurs) return
      await unlink(path)
      await deleteHeld(root)
    },
  }
}

async function takeFile(path: string, text: string) {
  for (;;) {
    await createFileOnce(path, text)
    const present = await ignoring('ENOENT', readFile(path, 'utf8'))
    if (present === text) return
    if (present === undefined) continue
    const [host = '', pid = ''] = present.split(' ')
    const file = await statIfExists(path)
    const isDead = host === hostname() && (Number(pid) === process.pid || !isAlive(Number(pid)))
    if (!isDead && file !== undefined && Date.now() - file.mtimeMs < TTL_MS) {
      throw new StartError(`another backup of these blobs is running (process ${pid} of ${host})`, {
        advice: 'wait for it to end',
      })
    }
    await rm(path, { force: true })
  }
}
