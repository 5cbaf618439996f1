import { createHash } from 'node:crypto'
import { lchownSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { readArchive } from '@groundstate/contract/archive'
import { type ReadEntry, Unpack } from 'tar'
import { type RunDirectory, chownToRun } from '../isolation/run-directory.ts'

type Target = Pick<RunDirectory, 'configuration' | 'user'>

/** Unpacks a configuration and returns the SHA-256 of its archive. Throws `ArchiveError` for an archive that the server refuses as well. */
export async function unpackArchive(archive: Readable, target: Target): Promise<string> {
  const { configuration: cwd, user } = target
  const hash = createHash('sha256')
  const links: Pick<ReadEntry, 'path' | 'linkpath'>[] = []

  async function* hashed() {
    for await (const chunk of archive as AsyncIterable<Buffer>) {
      hash.update(chunk)
      yield chunk
    }
  }

  await readArchive(hashed(), {}, ({ filter, ...options }) => {
    return new Unpack({
      ...options,
      cwd,
      // As root, tar would use the user ids in the archive.
      ...(user ?? { preserveOwner: false }),
      filter: (path, entry) => filter(path, entry) && !defers(entry as ReadEntry),
      onReadEntry: makeUsable,
    })
  })
  for (const { path, linkpath } of links) makeLink(resolve(cwd, path), linkpath ?? '', target)
  return hash.digest('hex')

  /** Links are made last: tar refuses one that leads through another, and so nothing is written through a link. */
  function defers({ type, path, linkpath }: ReadEntry): boolean {
    if (type !== 'SymbolicLink') return false
    links.push({ path, linkpath })
    return true
  }
}

/** Permits the owner, as which the agent or the engine opens the entry, to read and write it. */
function makeUsable(entry: ReadEntry) {
  entry.mode = ((entry.mode ?? 0o644) & 0o777) | (entry.type === 'Directory' ? 0o700 : 0o600)
}

function makeLink(path: string, linkpath: string, target: Target) {
  makeDirectory(dirname(path), target)
  rmSync(path, { force: true })
  symlinkSync(linkpath, path)
  if (target.user !== undefined) lchownSync(path, target.user.uid, target.user.gid)
}

/** Creates a directory in the configuration, with its parents. */
export function makeDirectory(path: string, target: Target) {
  mkdirSync(path, { recursive: true })
  for (let each = path; each !== target.configuration; each = dirname(each)) chownToRun(each, target)
}
