import type {
  GitOperation,
  GitOperationOf,
  GitRemote,
  GitResult,
  GitSource,
} from '@groundstate/contract/git-operations'
import { writeArchive } from './archive.ts'
import { GitError } from './errors.ts'
import { listRefs } from './refs.ts'
import type { GitNetwork, Remote } from './remote.ts'
import { type Repository, commitInfo, fetchCommit, listCommits, openRepository } from './repository.ts'
import { changedFiles, listDirectories, mergeTrees } from './trees.ts'

type Kind = GitOperation['kind']

export type RunGitOperation<K extends Kind> = {
  remote: GitRemote
  operation: GitOperationOf<K>
  /** Directory of the cache, which no other host uses. */
  cacheDir: string
  network: GitNetwork
  signal: AbortSignal
  /** The file to write an archive to. */
  file?: string
}

/** Paths of a larger change are not listed. */
const MAX_CHANGED_FILES = 300
const MAX_CONFLICTS = 1000
/** Characters of each message of a list. */
const MAX_MESSAGE = 4000

/** Executes an operation. Throws a `GitError`, and the reason of an abort. */
export async function runGitOperation<K extends Kind>(input: RunGitOperation<K>): Promise<GitResult<K>> {
  const { key, url, basic, privateKey } = input.remote
  const remote = { url, credential: { basic, privateKey }, network: input.network }
  const { operation, cacheDir, signal, file = '' } = input
  return OPERATIONS[operation.kind](operation, {
    remote,
    signal,
    file,
    open: () => openRepository({ cacheDir, key, remote, signal }),
  })
}

type Context = { remote: Remote; signal: AbortSignal; file: string; open: () => Promise<Repository> }

const OPERATIONS: { [K in Kind]: (operation: GitOperationOf<K>, context: Context) => Promise<GitResult<K>> } = {
  async refs(_, context) {
    const { head, branches, tags } = await listRefs(context)
    const listed = (refs: Map<string, string>) => [...refs].map(([name, sha]) => ({ name, sha }))
    return { defaultBranch: head, branches: listed(branches), tags: listed(tags) }
  },

  async commit({ commit }, { open }) {
    await using repository = await open()
    await fetchSeen(repository, commit)
    const { message, author, tree } = await commitInfo(repository, commit.sha)
    return { message, author: { name: author.name, email: author.email }, tree }
  },

  async log({ branch, max }, { open, ...context }) {
    const tip = await tipOf(context, branch)
    await using repository = await open()
    await fetchSeen(repository, tip)
    const commits = await listCommits(repository, tip.sha, max)
    return {
      commits: commits.map(({ sha, message, author: { name, email, at } }) => ({
        sha,
        message: message.slice(0, MAX_MESSAGE),
        author: { name, email },
        authoredAt: at.toISOString(),
      })),
    }
  },

  async compare({ from, to }, { open }) {
    await using repository = await open()
    await fetchSeen(repository, to)
    // A branch that was rewritten may have lost its former tip.
    const isKnown = await fetchCommit(repository, from).then(() => true, unlessMissing)
    return { changedFiles: isKnown ? await listChanged(repository, from, to.sha) : null }
  },

  async merge({ base, head }, { open, ...context }) {
    const tip = await tipOf(context, base)
    await using repository = await open()
    await fetchSeen(repository, tip)
    await fetchSeen(repository, head)
    const merge = await mergeTrees(repository, { base: tip.sha, head: head.sha })
    if (merge.kind === 'conflict') return { kind: 'conflict', paths: merge.paths.slice(0, MAX_CONFLICTS) }
    const changed = await listChanged(repository, tip.sha, merge.tree)
    return { kind: 'merged', base: tip.sha, tree: merge.tree, changedFiles: changed }
  },

  async directories({ branch }, { open, ...context }) {
    const tip = await tipOf(context, branch)
    await using repository = await open()
    await fetchSeen(repository, tip)
    return { paths: await listDirectories(repository, tip.sha) }
  },

  async archive({ source, directory = '', submodules, maxBytes }, { open, file }) {
    await using repository = await open()
    const tree = await treeOf(repository, source)
    const { size } = await writeArchive(repository, { tree, directory, submodules, maxBytes, file })
    return { tree, size }
  },
}

type Seen = GitOperationOf<'commit'>['commit']

async function fetchSeen(repository: Repository, { sha, ref }: Seen) {
  await fetchCommit(repository, sha, ref ?? undefined)
}

function unlessMissing(error: unknown) {
  if (error instanceof GitError && error.kind === 'not-found') return false
  throw error
}

async function listChanged(repository: Repository, from: string, to: string) {
  const { paths, isComplete } = await changedFiles(repository, { from, to, max: MAX_CHANGED_FILES })
  return isComplete ? paths : null
}

/** The tip of a branch, or of the default branch for null. */
async function tipOf({ remote, signal }: Pick<Context, 'remote' | 'signal'>, branch: string | null): Promise<Seen> {
  const { head, branches } = await listRefs({ remote, signal })
  const name = branch ?? head
  const sha = name === null ? undefined : branches.get(name)
  if (name === null || sha === undefined)
    throw new GitError('not-found', `${remote.url} has ${name === null ? 'no commits' : `no branch ${name}`}`)
  return { sha, ref: `refs/heads/${name}` }
}

async function treeOf(repository: Repository, source: GitSource) {
  if ('commit' in source) {
    await fetchSeen(repository, source.commit)
    return (await commitInfo(repository, source.commit.sha)).tree
  }
  const { base, head } = source.merge
  await fetchSeen(repository, base)
  await fetchSeen(repository, head)
  const merge = await mergeTrees(repository, { base: base.sha, head: head.sha })
  if (merge.kind === 'merged') return merge.tree
  throw new GitError('conflict', `the commits conflict in ${merge.paths.slice(0, 5).join(', ')}`)
}
