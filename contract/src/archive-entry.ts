/** The relevant fields of a tar entry; `type` is the name in the `tar` package (`File`, `Directory`, `SymbolicLink` …). */
export type ArchiveEntry = { path: string; type: string; linkpath?: string | undefined }

export type SeenEntries = ReturnType<typeof newSeenEntries>

/** State collected from earlier entries of an archive; paths are folded unless stated otherwise. */
export function newSeenEntries() {
  return {
    links: new Map<string, { path: string; target: string }>(),
    /** Paths, with their parents, that a link's target leaves by `..`; they must not become links. */
    pinned: new Set<string>(),
    directories: new Set<string>(),
    /** As spelled, since most file systems distinguish case; hard links are files. */
    spelled: { files: new Set<string>(), directories: new Set<string>() },
  }
}

const FILE_TYPES = new Set(['File', 'OldFile', 'ContiguousFile'])
const MAX_PATH = 1024
/** Maximum length of a name in file systems, in bytes. */
const MAX_NAME_BYTES = 255
const MAX_DEPTH = 100
const MAX_CHAIN = 16
const MAX_LINKS = 10_000
const MAX_DIRECTORIES = 100_000

/**
 * The reason why an entry of a configuration archive must not be unpacked; undefined if it may be. Call it for every entry in order, with one
 * `SeenEntries` per archive.
 *
 * No entry may lie outside the archive's root, be a device or a FIFO, or be written through a symlink of the archive.
 * No link may lead out of the root, not even through other links, before or after it. So unpacking the entries never
 * writes outside, and reading the result never leaves the root. An entry that then fails to unpack must fail the
 * archive, since later checks assume that it was unpacked.
 */
export function entryProblem(entry: ArchiveEntry, seen: SeenEntries): string | undefined {
  const problem = pathProblem(entry.path)
  if (problem !== undefined) return problem
  // Limits the memory for archives with many deep paths.
  if (seen.spelled.directories.size + seen.pinned.size > MAX_DIRECTORIES)
    return `comes after more than ${MAX_DIRECTORIES} directories`
  const names = namesOf(entry.path)
  const through = linkInPath(folded(names.join('/')), seen)
  if (through === 'is') return 'replaces an earlier link'
  if (through === 'passes') return 'passes through an earlier link'
  const path = names.join('/')
  const { files, directories } = seen.spelled
  const parent = names.slice(0, -1).join('/')
  for (const each of withParents(parent)) {
    // The parents of a known directory are directories too.
    if (directories.has(each)) break
    if (files.has(each)) return `is in ${each}, which is an earlier file`
  }
  const isDirectory = entry.type === 'Directory'
  if (!isDirectory && directories.has(path)) return 'replaces an earlier directory'
  const typeReason = typeProblem(entry, names, seen)
  if (typeReason !== undefined) return typeReason
  const directory = isDirectory ? path : parent
  addWithParents(seen.directories, folded(directory))
  addWithParents(directories, directory)
  if (isDirectory || entry.type === 'SymbolicLink') files.delete(path)
  else files.add(path)
  return undefined
}

function typeProblem(entry: ArchiveEntry, names: string[], seen: SeenEntries) {
  if (entry.type === 'Directory') return undefined
  if (names.length === 0) return 'is the root of the archive, but not a directory'
  if (FILE_TYPES.has(entry.type)) return undefined
  if (entry.type === 'SymbolicLink') return symlinkProblem(names, entry.linkpath ?? '', seen)
  if (entry.type === 'Link') return hardLinkProblem(names.join('/'), entry.linkpath ?? '', seen)
  return `has the type ${entry.type}, only files, directories and links are allowed`
}

function pathProblem(path: string) {
  if (path.length > MAX_PATH) return `has a path of more than ${MAX_PATH} characters`
  if (path.includes('\0')) return 'has a null character in its path'
  if (isAbsolute(path)) return 'has an absolute path'
  const names = path.split(/[/\\]/)
  if (names.includes('..')) return 'has a path with ..'
  if (names.length > MAX_DEPTH) return `lies more than ${MAX_DEPTH} directories deep`
  const isLong = (name: string) => new TextEncoder().encode(name).length > MAX_NAME_BYTES
  if (namesOf(path).some(isLong)) return `has a name of more than ${MAX_NAME_BYTES} bytes`
  return undefined
}

/** Whether a path is absolute on Unix or Windows, since the archive may be unpacked on either. */
function isAbsolute(path: string) {
  return /^([/\\]|[A-Za-z]:)/.test(path)
}

function namesOf(path: string) {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

/** The key under which a file system that ignores case and Unicode composition stores a name: `A` and `a` are equal. */
function folded(text: string) {
  return text.normalize('NFC').toLowerCase()
}

function* withParents(path: string) {
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) yield path.slice(0, end)
}

function linkInPath(path: string, seen: SeenEntries): 'is' | 'passes' | undefined {
  if (seen.links.size === 0) return undefined
  if (seen.links.has(path)) return 'is'
  for (const parent of withParents(path)) if (seen.links.has(parent)) return 'passes'
  return undefined
}

function addWithParents(paths: Set<string>, path: string) {
  for (const each of withParents(path)) {
    // The parents of a known path are known too.
    if (paths.has(each)) return
    paths.add(each)
  }
}

function symlinkProblem(names: string[], target: string, seen: SeenEntries) {
  if (target === '' || target.length > MAX_PATH || target.includes('\0')) return 'has an invalid link target'
  if (target.split('/').length > MAX_DEPTH) return `links more than ${MAX_DEPTH} directories far`
  if (seen.links.size >= MAX_LINKS) return `is one link too many, ${MAX_LINKS} are allowed`
  const path = folded(names.join('/'))
  if (seen.directories.has(path)) return 'replaces an earlier directory'
  if (seen.pinned.has(path)) return 'would redirect an earlier link'
  const climbed = new Set<string>()
  const problem = targetProblem(names.slice(0, -1), target, seen, climbed)
  if (problem !== undefined) return problem
  if (climbed.has(path)) return `links through itself to ${target}`
  for (const directory of climbed) seen.pinned.add(directory)
  seen.links.set(path, { path: names.join('/'), target })
  return undefined
}

/** Resolves a target through known links. Directories left by `..` go to `climbed` with their parents: links there could change the target later. */
function targetProblem(directory: string[], target: string, seen: SeenEntries, climbed: Set<string>) {
  let current = directory.join('/')
  const remaining = [target]
  let chain = 0
  for (let next = remaining.pop(); next !== undefined; next = remaining.pop()) {
    if (isAbsolute(next)) return `links to the absolute path ${target}`
    const names = namesOf(next.replaceAll('\\', '/'))
    for (const [n, name] of names.entries()) {
      if (name === '..') {
        if (current === '') return `links out of the archive to ${target}`
        addWithParents(climbed, folded(current))
        current = current.slice(0, Math.max(0, current.lastIndexOf('/')))
        continue
      }
      const child = current === '' ? name : `${current}/${name}`
      const link = seen.links.get(folded(child))
      if (link === undefined) {
        current = child
        continue
      }
      // File systems differ in which of the two a name refers to, so neither interpretation is safe.
      if (link.path !== child) return `links to ${target} past ${link.path}, a link of another spelling`
      if (++chain > MAX_CHAIN) return `links to ${target} through more than ${MAX_CHAIN} links`
      const rest = names.slice(n + 1).join('/')
      if (rest !== '') remaining.push(rest)
      remaining.push(link.target)
      break
    }
  }
  return undefined
}

/** The target of a hard link is relative to the archive's root. A hard link to a symlink would move the symlink. */
function hardLinkProblem(path: string, target: string, seen: SeenEntries) {
  if (target === '') return 'has an invalid link target'
  const problem = pathProblem(target)
  if (problem !== undefined) return `links to ${target}, which ${problem}`
  const file = namesOf(target).join('/')
  if (linkInPath(folded(file), seen) !== undefined) return `links to ${target}, which is or passes through a link`
  if (file === path || !seen.spelled.files.has(file)) return `links to ${target}, which is not an earlier file`
  return undefined
}
