import { posix } from 'node:path'

/** One entry of a tar as its header has it. */
export type ArchiveEntry = { path: string; type: string; linkpath?: string | undefined }

const TYPES = ['File', 'OldFile', 'ContiguousFile', 'Directory', 'GNUDumpDir', 'SymbolicLink', 'Link']

/**
 * Why an entry must not be unpacked, or undefined. Paths and the targets of links stay inside the folder; devices and pipes
 * have no place in a configuration. Links into links need no look at the disk: a link never leaves the folder, so that no
 * chain of them does.
 */
export function archiveEntryProblem({ path, type, linkpath }: ArchiveEntry): string | undefined {
  if (!TYPES.includes(type)) return `"${path}" is a ${type}, neither a file, a folder nor a link`
  if (posix.isAbsolute(path) || leaves(path)) return `"${path}" leaves the folder`
  if (type === 'SymbolicLink' || type === 'Link') {
    const target = linkpath ?? ''
    // A hard link's target is named from the root of the archive, a symbolic link's from the folder it is in.
    const resolved = type === 'Link' ? target : posix.join(posix.dirname(path), target)
    if (target === '' || posix.isAbsolute(target) || leaves(resolved))
      return `"${path}" links to "${target}", outside the folder`
  }
  return undefined
}

function leaves(path: string): boolean {
  const normal = posix.normalize(path)
  return normal === '..' || normal.startsWith('../')
}
