import { link, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, ignoring } from '../error-code.ts'
import { type FileLease, isLeased, LEASE_ADVICE, takeLease } from '../file-lease.ts'
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

/** Keeps deleted blobs until disposed, and then deletes them; if the hold is lost before, blobs may be missing. Throws a `StartError` while another process does. */
export async function holdDeletions(root: string): Promise<FileLease> {
  const lease = await takeLease(
    join(root, FILE),
    (owner) => new StartError(`another backup of these blobs is running (${owner})`, { advice: LEASE_ADVICE }),
  )
  return {
    isHeld: lease.isHeld,
    async [Symbol.asyncDispose]() {
      const isOurs = await lease.isHeld()
      await lease[Symbol.asyncDispose]()
      if (isOurs) await deleteHeld(root)
    },
  }
}
