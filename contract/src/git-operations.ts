import { z } from 'zod'

/*
 * What the server has git do in a repository: in its own process, or on an agent of the connection's pool.
 */

const sha = z.string().regex(/^[0-9a-f]{40}$/)
/** A full ref such as `refs/heads/main`; null if the commit can be asked for by name only. */
const ref = z.string().min(1).max(1000).nullable()

/** A repository and how to reach it. */
export const gitRemote = z.object({
  /** Identifies the repository and the organization that may read it, for the cache. */
  key: z.string(),
  url: z.string(),
  basic: z.object({ username: z.string(), password: z.string() }).optional(),
  privateKey: z.string().optional(),
})
export type GitRemote = z.infer<typeof gitRemote>

/** A commit as it was seen at a ref. */
const commit = z.object({ sha, ref })
/** The content of an archive: a commit, or the result of merging `head` into the commit `base`. */
export const gitSource = z.union([z.object({ commit }), z.object({ merge: z.object({ base: commit, head: commit }) })])
export type GitSource = z.infer<typeof gitSource>

/**
 * - `refs`: branches and tags
 * - `commit`: message, author and tree of a commit
 * - `log`: the latest commits of a branch, or of the default branch
 * - `compare`: paths that differ between two commits
 * - `merge`: the result of merging `head` into the tip of the branch `base`, without committing it
 * - `directories`: of a branch, or of the default branch
 * - `archive`: a configuration archive; `directory` is its root, the root of the repository by default, `submodules` includes those,
 *   `maxBytes` limits the unpacked size
 */
export const gitOperation = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('refs') }),
  z.object({ kind: z.literal('commit'), commit }),
  z.object({ kind: z.literal('log'), branch: z.string().nullable(), max: z.int().min(1).max(100) }),
  z.object({ kind: z.literal('compare'), from: sha, to: commit }),
  z.object({ kind: z.literal('merge'), base: z.string(), head: commit }),
  z.object({ kind: z.literal('directories'), branch: z.string().nullable() }),
  z.object({
    kind: z.literal('archive'),
    source: gitSource,
    directory: z.string().max(1000).optional(),
    submodules: z.boolean(),
    maxBytes: z.int(),
  }),
])
export type GitOperation = z.infer<typeof gitOperation>
export type GitOperationOf<Kind extends GitOperation['kind']> = Extract<GitOperation, { kind: Kind }>

const author = z.object({ name: z.string(), email: z.string() })
const paths = z.array(z.string())
/** Paths, or null if there are too many to list. */
const changedFiles = paths.nullable()

export const gitResults = {
  refs: z.object({
    /** Null in an empty repository. */
    defaultBranch: z.string().nullable(),
    branches: z.array(z.object({ name: z.string(), sha })),
    /** `sha` is that of the tagged commit. */
    tags: z.array(z.object({ name: z.string(), sha })),
  }),
  commit: z.object({ message: z.string(), author, tree: sha }),
  log: z.object({ commits: z.array(z.object({ sha, message: z.string(), author, authoredAt: z.iso.datetime() })) }),
  compare: z.object({ changedFiles }),
  merge: z.union([
    z.object({ kind: z.literal('merged'), base: sha, tree: sha, changedFiles }),
    z.object({ kind: z.literal('conflict'), paths }),
  ]),
  directories: z.object({ paths }),
  archive: z.object({ tree: sha, size: z.int() }),
} as const satisfies Record<GitOperation['kind'], z.ZodType>
export type GitResult<Kind extends GitOperation['kind']> = z.infer<(typeof gitResults)[Kind]>
