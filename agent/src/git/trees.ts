import { startGit } from './command.ts'
import { GitError } from './errors.ts'
import { type Repository, connectedGit, failureIn, localGit, requireObjects } from './repository.ts'

/**
 * Paths that differ between two commits or trees, without detection of renames: both names count. `isComplete` is false if there are more
 * than `max`.
 */
export async function changedFiles(repository: Repository, input: { from: string; to: string; max: number }) {
  const { from, to, max } = input
  await requireObjects(repository, from, to)
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--no-ext-diff', from, to, '--']
  const paths = await firstRecords(repository, args, max + 1)
  return { paths: paths.slice(0, max), isComplete: paths.length <= max }
}

/** Paths of all directories of a commit or tree, at most `max`, without those of submodules. */
export async function listDirectories(repository: Repository, tree: string, max = 10_000): Promise<string[]> {
  await requireObjects(repository, tree)
  const records = await firstRecords(repository, ['ls-tree', '-r', '-d', '-z', tree], max)
  return records.flatMap((record) => (record.split(' ')[1] === 'tree' ? [record.slice(record.indexOf('\t') + 1)] : []))
}

/** The first records of an output that is separated by NULs. */
export async function firstRecords(repository: Repository, args: string[], max: number): Promise<string[]> {
  const git = startGit(repository.session.local({ args, gitDir: repository.gitDir }))
  const records: string[] = []
  let rest: Buffer = Buffer.alloc(0)
  git.stdout.on('data', (chunk: Buffer) => {
    const bytes = Buffer.concat([rest, chunk])
    const end = bytes.lastIndexOf(0) + 1
    rest = bytes.subarray(end)
    if (end > 0) records.push(...bytes.toString('utf8', 0, end - 1).split('\0'))
    if (records.length >= max) git.stop()
  })
  const { code, stderr } = await git.finished
  if (code !== 0) throw await failureIn(repository, stderr)
  return records.slice(0, max)
}

/**
 * A file of a commit or tree; undefined if there is none at the path. Throws a `GitError`: `too-large` for a file of more than `maxBytes`.
 */
export async function readFileAt(repository: Repository, input: { tree: string; path: string; maxBytes: number }) {
  const { tree, path, maxBytes } = input
  await requireObjects(repository, tree)
  if (path.split('/').some((name) => ['', '.', '..'].includes(name)) || path.includes('\0')) return undefined
  const { stdout } = await localGit(repository, { args: ['ls-tree', '-z', tree, '--', path] })
  const [, mode, blob] = /^(\d+) blob ([0-9a-f]+)\t/.exec(stdout.toString()) ?? []
  // Symbolic links are not followed.
  if (blob === undefined || mode === '120000') return undefined
  const size = Number((await connectedGit(repository, { args: ['cat-file', '-s', blob] })).stdout.toString())
  if (size > maxBytes) throw new GitError('too-large', `${path} is larger than ${maxBytes} bytes`)
  return (await connectedGit(repository, { args: ['cat-file', 'blob', blob], maxBytes })).stdout
}

/** The tree of a directory of a commit or tree. Throws a `GitError`: `invalid` if there is no directory at the path. */
export async function findTree(repository: Repository, tree: string, directory: string) {
  await requireObjects(repository, tree)
  const isPath = !directory.includes('\0') && directory.split('/').every((name) => !['', '.', '..'].includes(name))
  const args = ['--literal-pathspecs', 'ls-tree', '-z', tree, '--', directory]
  const { stdout } = isPath ? await localGit(repository, { args }) : { stdout: '' }
  const [, sha] = /^040000 tree ([0-9a-f]{40})\t/.exec(stdout.toString()) ?? []
  if (sha === undefined) throw new GitError('invalid', `the commit has no directory ${JSON.stringify(directory)}`)
  return sha
}

export type Merge = { kind: 'merged'; tree: string } | { kind: 'conflict'; paths: string[] }

/**
 * The tree that a merge of two fetched commits would have. Nothing is committed. Throws a `GitError`: `conflict` for commits without a common
 * ancestor.
 */
export async function mergeTrees(
  repository: Repository,
  { base, head }: { base: string; head: string },
): Promise<Merge> {
  await requireObjects(repository, base, head)
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', base, head]
  const { code, stdout } = await connectedGit(repository, { args }, [0, 1])
  const [tree = '', ...paths] = stdout
    .toString()
    .split('\0')
    .filter((record) => record !== '')
  return code === 0 ? { kind: 'merged', tree } : { kind: 'conflict', paths: [...new Set(paths)] }
}
