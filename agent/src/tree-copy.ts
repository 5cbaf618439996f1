import * as fs from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import type { TreeSize } from './archive.ts'
import type { Bounds } from './confined-file.ts'
import type { RunUser } from './run-users.ts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, COPYFILE_FICLONE } = fs.constants

const treeEntry = z.object({
  /** Relative to the top of the tree. */
  path: z.string(),
  kind: z.enum(['folder', 'file', 'link']),
  mode: z.int(),
  mtime: z.number(),
  /** Of a link. */
  target: z.string().optional(),
})
const treeEntries = z.array(treeEntry)
type RunBounds = Pick<Bounds, 'root'> & { user: RunUser | undefined }
export type TreeEntry = z.infer<typeof treeEntry>

/** The list of a copy's entries. A file lies beside it, under its place in the list. */
const LIST = 'tree.json'

/** A tree beyond this is not worth its copy. */
const MOST_ENTRIES = 20_000
const MOST_BYTES = 256 * 1024 ** 2
const DEEPEST = 200

/** Whether a tree may be copied. */
export function isSmallTree({ entries, bytes }: TreeSize): boolean {
  return entries <= MOST_ENTRIES && bytes <= MOST_BYTES
}

/** Calls that wait are three times as fast for small files; after so many the event loop gets its turn. */
const ENTRIES_A_TURN = 16
/** A larger file is copied beside other work, in bytes. */
const SMALL_FILE = 256 * 1024
const FORBIDDEN_BITS = 0o6000

/**
 * Copies a tree that a run may write into a folder of the agent's, as a list and flat files, and answers its entries and size in
 * bytes. No link is followed, also none that takes the place of a folder meanwhile; links stay links. Throws for what is not the
 * run's own, for what is neither file, folder nor link, and for a tree that is too large.
 */
export async function copyTree(
  from: string,
  to: string,
  bounds: Bounds,
): Promise<{ entries: TreeEntry[]; bytes: number }> {
  const entries: TreeEntry[] = []
  let bytes = 0
  const top = fs.openSync(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    await visit(top, from, '')
  } finally {
    fs.closeSync(top)
  }
  await writeFile(join(to, LIST), JSON.stringify(entries), { mode: 0o600 })
  return { entries, bytes }

  async function visit(folder: number, folderPath: string, prefix: string): Promise<void> {
    checkOwner(fs.fstatSync(folder), folderPath, bounds)
    if (prefix.split('/').length > DEEPEST) throw new Error(`${folderPath} lies too deep to be kept`)
    for (const name of fs.readdirSync(placeOf(folder, folderPath))) {
      if (entries.length >= MOST_ENTRIES) throw new Error(`${from} has more than ${MOST_ENTRIES} entries`)
      if (entries.length % ENTRIES_A_TURN === ENTRIES_A_TURN - 1) await nextTurn()
      const place = join(placeOf(folder, folderPath), name)
      const path = prefix + name
      const facts = fs.lstatSync(place)
      if (facts.isSymbolicLink()) addLink(path, fs.readlinkSync(place))
      else if (facts.isDirectory()) {
        const inner = fs.openSync(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        try {
          entries.push({ path, kind: 'folder', mode: facts.mode & 0o777, mtime: 0 })
          await visit(inner, join(folderPath, name), `${path}/`)
        } finally {
          fs.closeSync(inner)
        }
      } else if (facts.isFile()) await addFile(place, path)
      else throw new Error(`${path} is neither a file nor a folder nor a link`)
    }
  }

  function addLink(path: string, target: string) {
    checkTarget(target, bounds)
    entries.push({ path, kind: 'link', mode: 0, mtime: 0, target })
  }

  async function addFile(place: string, path: string) {
    const file = fs.openSync(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const facts = fs.fstatSync(file)
      checkOwner(facts, path, bounds)
      if (!facts.isFile() || (facts.mode & FORBIDDEN_BITS) !== 0) throw new Error(`${path} is no plain file`)
      bytes += facts.size
      if (bytes > MOST_BYTES) throw new Error(`${from} has more than ${MOST_BYTES} bytes`)
      const copy = join(to, String(entries.length))
      entries.push({ path, kind: 'file', mode: facts.mode & 0o777, mtime: facts.mtimeMs / 1000 })
      await copyOf(placeOf(file, place), copy, facts.size)
      // A copy has the owner of its original.
      if (bounds.user !== undefined) fs.chownSync(copy, process.geteuid?.() ?? 0, process.getegid?.() ?? 0)
    } finally {
      fs.closeSync(file)
    }
  }
}

/**
 * Makes a tree anew of its copy, in a folder of the run's that is there and empty, for the run's user. Where the file system can
 * do so, files share their blocks with the copy until somebody writes one; they are never the same file. Throws when the copy is
 * not whole, or when a link out of the tree leads nowhere by now.
 */
export async function restoreTree(from: string, to: string, { root, user: owner }: RunBounds): Promise<void> {
  const entries = treeEntries.parse(JSON.parse(fs.readFileSync(join(from, LIST), 'utf8')))
  for (const [index, { path, kind, mode, mtime, target = '' }] of entries.entries()) {
    if (index % ENTRIES_A_TURN === ENTRIES_A_TURN - 1) await nextTurn()
    const place = join(to, path)
    if (kind === 'folder') fs.mkdirSync(place, { mode })
    else if (kind === 'link') {
      checkTarget(target, { root })
      fs.symlinkSync(target, place)
    } else {
      const copy = join(from, String(index))
      await copyOf(copy, place, fs.statSync(copy).size)
      fs.utimesSync(place, mtime, mtime)
    }
    if (owner !== undefined) fs.lchownSync(place, owner.uid, owner.gid)
  }
}

async function copyOf(from: string, to: string, size: number) {
  if (size > SMALL_FILE) await copyFile(from, to, COPYFILE_FICLONE)
  else fs.copyFileSync(from, to, COPYFILE_FICLONE)
}

/**
 * A link out of the tree has to lead somewhere, and not into the folder of a run: that is closed to other runs, and goes. Providers
 * are links into the plugin cache, where they may be links to a mirror, or to what a configuration has brought.
 */
function checkTarget(target: string, { root }: Pick<Bounds, 'root'>) {
  if (target.startsWith(sep) && fs.realpathSync(target).startsWith(dirname(root) + sep))
    throw new Error(`${target} is in the folder of a run`)
}

/** A path to what was opened that no change of a folder on the way can lead elsewhere. */
function placeOf(opened: number, path: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${opened}` : path
}

function checkOwner({ uid }: fs.Stats, path: string, { user }: Bounds) {
  if (user !== undefined && uid !== user.uid) throw new Error(`${path} is not the run's own`)
}
