import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { entryProblem, newSeenEntries } from '@groundstate/contract/archive-entry'
import { type ReadEntry, Unpack } from 'tar'

/** Maximum unpacked size of a configuration, in bytes: a small archive can expand without bound. */
const LARGEST_CONFIGURATION = 2 * 1024 ** 3

/** The archive holds something that must not be written; the message is for its author. */
class ArchiveRefused extends Error {
  override name = 'ArchiveRefused'
}

type Owner = { uid: number; gid: number }

/**
 * Unpacks a tar, compressed or not, into a directory, for `owner` if it is another user. Throws `ArchiveRefused` for what the archive is to blame for;
 * errors of the stream that brings it pass through.
 */
export async function unpackArchive(archive: Readable, directory: string, owner?: Owner): Promise<void> {
  const seen = newSeenEntries()
  let problem: string | undefined
  let damage: string | undefined
  let entries = 0
  let size = 0
  const unpack = new Unpack({
    cwd: directory,
    // As root, tar would hand the files to the user ids in the archive.
    ...(owner ?? { preserveOwner: false }),
    filter(_path, entry) {
      problem ??= problemOf(entry as ReadEntry)
      return problem === undefined
    },
    onwarn(code, message) {
      if (code !== 'TAR_ENTRY_INFO') damage ??= message
    },
  })

  function problemOf(entry: ReadEntry) {
    entries += 1
    size += entry.size
    if (size > LARGEST_CONFIGURATION) return `it unpacks to more than ${LARGEST_CONFIGURATION} bytes`
    const found = entryProblem(entry, seen)
    return found === undefined ? undefined : `"${entry.path}" ${found}`
  }

  try {
    await pipeline(archive, unpack)
  } catch (error) {
    if (!isArchiveError(error)) throw error
    damage ??= error.message
  }
  if (problem !== undefined) throw new ArchiveRefused(`the configuration's archive is refused: ${problem}`)
  // The archive of an empty directory holds nothing but its end mark; destroying needs no configuration.
  const empty = entries === 0 && damage?.endsWith('Unrecognized archive format') === true
  if (damage !== undefined && !empty) throw new ArchiveRefused(`the configuration's archive can't be read: ${damage}`)
}

function isArchiveError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return 'tarCode' in error || /^(Z_|TAR_)/.test(code)
}
