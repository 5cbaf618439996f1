/** What the rule needs of a tar entry: `type` as the `tar` package names it (`File`, `Directory`, `SymbolicLink` …). */
export type ArchiveEntry = { path: string; type: string; linkpath?: string | undefined }

/**
 * What the entries so far have decided. `links` are the symlinks by folded path; `pinned` are the folded paths that some
 * link's target climbs out of by `..`, with their parents, and which therefore must not become links
 * themselves; `folders` are the folded paths that hold entries.
 */
export type SeenEntries = {
  links: Map<string, { path: string; target: string }>
  pinned: Set<string>
  folders: Set<string>
}

export function newSeenEntries(): SeenEntries {
  return { links: new Map(), pinned: new Set(), folders: new Set() }
}

const FILE_TYPES = new Set(['File', 'OldFile', 'ContiguousFile'])
const MAX_PATH = 1024
const MAX_DEPTH = 100
const MAX_CHAIN = 16
const MAX_LINKS = 10_000

/**
 * Why an entry of a configuration archive must not be unpacked, or undefined when it may. To be asked for every entry in
 * order, with one `SeenEntries` an archive.
 *
 * No entry may lie outside the archive's root, be a device or a FIFO, or be written through a symlink of the archive. No
 * link may lead out of the root, followed through other links too, whether those come before or after it: unpacking the
 * entries that pass never writes outside, and reading the result never leaves it.
 */
export function entryProblem(entry: ArchiveEntry, seen: SeenEntries): string | undefined {
  const problem = pathProblem(entry.path)
  if (problem !== undefined) return problem
  const names = namesOf(entry.path)
  const through = linkOnTheWay(names, seen)
  if (through !== undefined)
    return through === names.length ? 'replaces an earlier link' : 'passes through an earlier link'
  const problemOfType = typeProblem(entry, names, seen)
  if (problemOfType !== undefined) return problemOfType
  addWithParents(seen.folders, entry.type === 'Directory' ? names : names.slice(0, -1))
  return undefined
}

function typeProblem(entry: ArchiveEntry, names: string[], seen: SeenEntries): string | undefined {
  if (entry.type === 'Directory') return undefined
  if (names.length === 0) return 'is the root of the archive, but no directory'
  if (FILE_TYPES.has(entry.type)) return undefined
  if (entry.type === 'SymbolicLink') return symlinkProblem(names, entry.linkpath ?? '', seen)
  if (entry.type === 'Link') return hardLinkProblem(entry.linkpath ?? '', seen)
  return `has the type ${entry.type}, only files, directories and links are allowed`
}

function pathProblem(path: string): string | undefined {
  if (path.length > MAX_PATH) return `has a path of more than ${MAX_PATH} characters`
  if (path.includes('\0')) return 'has a null character in its path'
  if (isAbsolute(path)) return 'has an absolute path'
  const names = path.split(/[/\\]/)
  if (names.includes('..')) return 'has a path with ..'
  if (names.length > MAX_DEPTH) return `lies more than ${MAX_DEPTH} folders deep`
  return undefined
}

/** Also as Windows understands it: the same archive may be unpacked there. */
function isAbsolute(path: string) {
  return /^([/\\]|[A-Za-z]:)/.test(path)
}

function namesOf(path: string) {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

/** Links are compared as a file system that ignores case and composition would: there `A` and `a` are one name. */
function folded(names: string[]) {
  return names.join('/').normalize('NFKC').toLowerCase()
}

/** How many names of the path lead to the first link on it. */
function linkOnTheWay(names: string[], seen: SeenEntries): number | undefined {
  if (seen.links.size === 0) return undefined
  for (let count = 1; count <= names.length; count++) {
    if (seen.links.has(folded(names.slice(0, count)))) return count
  }
  return undefined
}

function symlinkProblem(names: string[], target: string, seen: SeenEntries): string | undefined {
  if (target === '' || target.length > MAX_PATH || target.includes('\0')) return 'links to no valid path'
  if (seen.links.size >= MAX_LINKS) return `is one link too many, ${MAX_LINKS} are allowed`
  const path = folded(names)
  if (seen.folders.has(path)) return 'replaces an earlier folder'
  if (seen.pinned.has(path)) return 'would redirect an earlier link'
  const climbed = new Set<string>()
  const problem = targetProblem(names.slice(0, -1), target, seen, climbed)
  if (problem !== undefined) return problem
  if (climbed.has(path)) return `links through itself to ${target}`
  for (const folder of climbed) seen.pinned.add(folder)
  seen.links.set(path, { path: names.join('/'), target })
  return undefined
}

/**
 * Follows a target from a folder, through the links known so far. What it climbs out of by `..` is no link by now, and is
 * collected in `climbed` so that it never becomes one; hence a later link cannot change where this one leads.
 */
function targetProblem(folder: string[], target: string, seen: SeenEntries, climbed: Set<string>): string | undefined {
  const place = [...folder]
  const ahead = [target]
  let chain = 0
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    if (isAbsolute(next)) return `links to the absolute path ${target}`
    const names = namesOf(next.replaceAll('\\', '/'))
    for (const [n, name] of names.entries()) {
      if (name === '..') {
        if (place.length === 0) return `links out of the archive to ${target}`
        addWithParents(climbed, place)
        place.pop()
        continue
      }
      place.push(name)
      const link = seen.links.get(folded(place))
      if (link === undefined) continue
      // Which of the two a name means differs between file systems, so that neither answer would be safe.
      if (link.path !== place.join('/')) return `links to ${target} past ${link.path}, a link of another spelling`
      if (++chain > MAX_CHAIN) return `links to ${target} through more than ${MAX_CHAIN} links`
      place.pop()
      const rest = names.slice(n + 1).join('/')
      if (rest !== '') ahead.push(rest)
      ahead.push(link.target)
      break
    }
  }
  return undefined
}

/** Parents too: a link in place of any of them would move the whole path. */
function addWithParents(paths: Set<string>, names: string[]) {
  for (let count = names.length; count > 0; count--) {
    const path = folded(names.slice(0, count))
    if (paths.has(path)) return
    paths.add(path)
  }
}

/** A hard link names its target from the archive's root. One to a symlink would move that link to another folder. */
function hardLinkProblem(target: string, seen: SeenEntries): string | undefined {
  if (target === '') return 'links to no valid path'
  const problem = pathProblem(target)
  if (problem !== undefined) return `links to ${target}, which ${problem}`
  if (linkOnTheWay(namesOf(target), seen) !== undefined) return `links to ${target}, which is or passes through a link`
  return undefined
}
