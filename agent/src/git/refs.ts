import { type GitLimits } from './command.ts'
import { GitError } from './errors.ts'
import type { Remote } from './remote.ts'
import { openSession } from './session.ts'

export type Refs = {
  /** The branch that `HEAD` names; null for an empty repository. */
  head: string | null
  /** Object names of commits by the name of the branch. */
  branches: Map<string, string>
  /** Object names of commits, or of what else an annotated tag leads to, by the name of the tag. */
  tags: Map<string, string>
  /** Refs that match `patterns`, by full name. */
  others: Map<string, string>
}

const SHA = /^[0-9a-f]{40}$/

/** Throws a `GitError` for anything but the full object name of a commit or tree. */
export function checkSha(sha: string) {
  if (!SHA.test(sha))
    throw new GitError('invalid', `${JSON.stringify(sha.slice(0, 100))} is not the SHA-1 of an object`)
}

/** Throws a `GitError` for a name that git refuses, or that would have another meaning on its command line. */
export function checkRef(ref: string) {
  const isValid = /^refs\/[^/.][^\p{Cc} ~^:?*[\\]*$/u.test(ref) && !/\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|[/.]$/.test(ref)
  if (!isValid || ref.length > 1000)
    throw new GitError('invalid', `${JSON.stringify(ref.slice(0, 100))} is not the full name of a ref`)
}

/**
 * Branches and tags of a remote. `patterns` select other refs, such as `refs/pull/*\/head`. Throws a `GitError`, and the reason of an
 * abort.
 */
export async function listRefs(input: {
  remote: Remote
  signal: AbortSignal
  patterns?: readonly string[]
  limits?: GitLimits
}): Promise<Refs> {
  const { remote, signal, patterns = [], limits } = input
  for (const pattern of patterns) checkRef(pattern.replaceAll('*', 'x'))
  await using session = await openSession(remote, signal, limits)
  const args = ['ls-remote', '--symref', '--', 'origin', 'HEAD', 'refs/heads/*', 'refs/tags/*', ...patterns]
  const { code, stdout, stderr } = await session.run({ args })
  if (code !== 0) throw session.failure(stderr)
  if (stdout.length === 0) await session.checkIsGit()
  return parseRefs(stdout.toString())
}

function parseRefs(text: string): Refs {
  const refs: Refs = { head: null, branches: new Map(), tags: new Map(), others: new Map() }
  for (const line of text.split('\n')) {
    const [value = '', name = ''] = line.split('\t')
    const branch = /^ref: refs\/heads\/(.+)$/.exec(value)?.[1]
    if (branch !== undefined && name === 'HEAD') refs.head = branch
    if (!SHA.test(value)) continue
    const [, kind, rest = ''] = /^refs\/(heads|tags)\/(.+)$/.exec(name) ?? []
    if (kind === 'heads') refs.branches.set(rest, value)
    // The object that an annotated tag leads to comes after the tag.
    else if (kind === 'tags') refs.tags.set(rest.replace(/\^\{\}$/, ''), value)
    else if (name.startsWith('refs/')) refs.others.set(name, value)
  }
  return refs
}
