import { createReadStream, createWriteStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { ArchiveError, readArchive } from '@groundstate/contract/archive'
import { startGit } from './command.ts'
import { GitError } from './errors.ts'
import { checkSha } from './refs.ts'
import { submoduleRemote } from './remote.ts'
import { type Repository, connectedGit, failureIn, fetchCommit, fetchFiles, openRepository } from './repository.ts'
import { findTree, firstRecords } from './trees.ts'

export type WriteArchive = {
  /** A commit or tree that has been fetched, or the tree of a merge. */
  tree: string
  /** The root of the archive: a directory of the tree, without slashes at its ends; the root of the tree by default. */
  directory?: string
  /** Whether to include submodules, also those of submodules; otherwise their directories are empty. */
  submodules: boolean
  /** Maximum size of the unpacked archive, in bytes. */
  maxBytes: number
  /** The file to write. Nothing is left of it after an error. */
  file: string
}

/** A tree and where it is in the archive: empty for the root, else a path that ends with a slash. */
type Part = { repository: Repository; tree: string; prefix: string; depth: number }

const MAX_DEPTH = 5
const MAX_SUBMODULES = 100
/** Longer trees are refused as archives. */
const MAX_ENTRIES = 200_000
const BLOCK = 512

/**
 * Writes a tree as a configuration archive: gzipped tar, with the files as a checkout has them, but without LFS content. Returns the number of
 * files and links, the unpacked size of all files and the size of the archive, in bytes. Throws a `GitError`: `invalid` for an entry that an
 * agent must not unpack, such as a symbolic link that leads out of the tree; `too-large` for a limit.
 */
export async function writeArchive(
  repository: Repository,
  { tree, directory = '', submodules, maxBytes, file }: WriteArchive,
) {
  checkSha(tree)
  const root = directory === '' ? tree : await findTree(repository, tree, directory)
  await using opened = new AsyncDisposableStack()
  const inner = submodules ? await listSubmoduleParts({ repository, tree, directory }, opened) : []
  const parts = [{ repository, tree: root, prefix: '', depth: 0 }, ...inner]
  for (const part of parts) await within(part, () => fetchFiles(part.repository, part.tree))
  try {
    await pipeline(Readable.from(tarOf(parts, maxBytes)), createGzip(), createWriteStream(file, { mode: 0o600 }))
    const { size } = await stat(file)
    return { ...(await readArchive(createReadStream(file), { maxBytes }).catch(refuse)), size }
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}

function refuse(error: unknown): never {
  if (error instanceof ArchiveError)
    throw new GitError('invalid', `the repository cannot be used as a configuration: ${error.message}`, {
      cause: error,
    })
  throw error
}

type Root = { repository: Repository; tree: string; directory: string }

/**
 * The trees of the submodules in a directory, outer ones first. A repository is opened once, since nobody else may use it meanwhile.
 */
async function listSubmoduleParts(
  { repository, tree, directory }: Root,
  opened: AsyncDisposableStack,
): Promise<Part[]> {
  const parts: Part[] = [{ repository, tree, prefix: '', depth: 0 }]
  const start = directory === '' ? '' : `${directory}/`
  const repositories = new Map<string, Repository>()
  // The list grows meanwhile.
  for (const part of parts) {
    const outside = part.depth === 0 ? start : ''
    for (const { path, sha, url } of await listSubmodules(part, outside)) {
      const prefix = `${part.prefix}${path.slice(outside.length)}/`
      if (part.depth === MAX_DEPTH)
        throw new GitError('invalid', `submodule ${prefix} is nested more than ${MAX_DEPTH} deep`)
      if (parts.length > MAX_SUBMODULES)
        throw new GitError('too-large', `there are more than ${MAX_SUBMODULES} submodules`)
      const inner = { tree: sha, prefix, depth: part.depth + 1 }
      await within(inner, async () => {
        const remote = submoduleRemote(part.repository.input.remote, url)
        const key = JSON.stringify([repository.input.key, 'submodule', remote.url])
        const known = repositories.get(key)
        const submodule = known ?? opened.use(await openRepository({ ...repository.input, key, remote }))
        repositories.set(key, submodule)
        await fetchCommit(submodule, sha)
        parts.push({ ...inner, repository: submodule })
      })
    }
  }
  return parts.slice(1)
}

/** Names the submodule in errors. */
async function within({ prefix }: Pick<Part, 'prefix'>, work: () => Promise<void>) {
  try {
    await work()
  } catch (error) {
    if (prefix === '' || !(error instanceof GitError)) throw error
    throw new GitError(error.kind, `submodule ${prefix}: ${error.message}`, { cause: error })
  }
}

/** Those whose path starts with `outside`. */
async function listSubmodules({ repository, tree, prefix }: Part, outside: string) {
  const records = await firstRecords(repository, ['ls-tree', '-r', '-z', tree], MAX_ENTRIES)
  const links = records.flatMap((record) => {
    const [, sha, path] = /^160000 commit ([0-9a-f]{40})\t([\s\S]+)$/.exec(record) ?? []
    return sha === undefined || path?.startsWith(outside) !== true ? [] : [{ sha, path }]
  })
  if (links.length === 0) return []
  const urls = records.some((record) => record.endsWith('\t.gitmodules'))
    ? await readModules(repository, tree)
    : new Map<string, string>()
  return links.map(({ sha, path }) => {
    const url = urls.get(path)
    if (url === undefined) throw new GitError('invalid', `submodule ${prefix}${path} has no URL in .gitmodules`)
    return { sha, path, url }
  })
}

/** URLs of submodules by path. */
async function readModules(repository: Repository, tree: string): Promise<Map<string, string>> {
  const args = ['config', '--blob', `${tree}:.gitmodules`, '--no-includes', '--null', '--list']
  const { stdout } = await connectedGit(repository, { args, maxBytes: 1024 ** 2 })
  const modules = new Map<string, { path?: string; url?: string }>()
  for (const record of stdout.toString().split('\0')) {
    const [, name, field, value] = /^submodule\.([\s\S]*)\.(path|url)\n([\s\S]*)$/.exec(record) ?? []
    if (name !== undefined && field !== undefined) modules.set(name, { ...modules.get(name), [field]: value })
  }
  return new Map(
    [...modules.values()].flatMap(({ path, url }) =>
      path === undefined || url === undefined ? [] : [[path.replace(/\/+$/, ''), url] as const],
    ),
  )
}

/** One tar of all parts. */
async function* tarOf(parts: Part[], maxBytes: number) {
  let bytes = 0
  for (const { repository, tree, prefix } of parts) {
    const args = ['archive', '--format=tar', ...(prefix === '' ? [] : [`--prefix=${prefix}`]), `${tree}^{tree}`]
    const git = startGit(repository.session.local({ args, gitDir: repository.gitDir }))
    try {
      for await (const chunk of entriesOf(git.stdout)) {
        bytes += chunk.length
        if (bytes > maxBytes)
          throw new GitError(
            'too-large',
            `the files of the repository are larger than ${maxBytes} bytes, the limit for configurations`,
          )
        yield chunk
      }
    } catch (error) {
      git.stop()
      // The reason why git was killed precedes that of its broken output.
      await git.finished
      throw error
    }
    const { code, stderr } = await git.finished
    if (code !== 0) throw await failureIn(repository, stderr)
  }
  yield Buffer.alloc(2 * BLOCK)
}

/** The entries of a tar without its end marker, so that another tar can follow. */
async function* entriesOf(tar: AsyncIterable<Buffer>) {
  let pending: Buffer = Buffer.alloc(0)
  let content = 0
  let hasEnded = false
  for await (const chunk of tar) {
    if (hasEnded) continue
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    while (pending.length >= BLOCK || (content > 0 && pending.length > 0)) {
      if (content === 0) {
        hasEnded = pending[0] === 0
        if (hasEnded) break
        const size = Number.parseInt(pending.toString('latin1', 124, 136), 8)
        content = BLOCK + Math.ceil(size / BLOCK) * BLOCK
      }
      const length = Math.min(content, pending.length)
      yield pending.subarray(0, length)
      pending = pending.subarray(length)
      content -= length
    }
  }
}
