import { link, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, ignoring } from '../error-code.ts'
import { isLeased, takeLease } from '../file-lease.ts'
import { StartError } from '../start-error.ts'
import { unlinkIfExists } from './disk-shards.ts'

/**
 * While a backup copies blobs on disk, deleted ones keep a name in a separate directory: the copied database may still refer to them. The hold is a
 * lease, so it ends if the backup dies or is paused. Servers only read its time: they may run as another user or in another container.
 */
const FILE = 'backup-hold'
const DIRECTORY = 'held'

/** Directory of the deleted blobs, by file name as in `objects/`. */
export function heldDirectory(root: string) {
  return join(root, DIRECTORY)
}

/** Whether a backup is running, so that deletions must keep the blobs. */
export async function isHeld(root: string) {
  return isLeased(join(root, FILE))
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
export type Hold = AsyncDisposable & { check: () => Promise<void> }

/** Keeps deleted blobs until disposed. Throws a `StartError` while another process does. */
export async function holdDeletions(root: string): Promise<Hold> {
  const lease = await takeLease(
    join(root, FILE),
    (owner) =>
      new StartError(`another backup of these blobs is running (${owner})`, {
        advice: 'wait for it to end, or for two minutes if it was killed',
      }),
  )
  return {
    async check() {
      if (await lease.isHeld()) return
      throw new StartError('the backup was paused for too long, so blobs may be missing from it', {
        advice: 'run it again',
      })
    },
    async [Symbol.asyncDispose]() {
      const isOurs = await lease.isHeld()
      await lease[Symbol.asyncDispose]()
      if (isOurs) await deleteHeld(root)
    },
  }
}
