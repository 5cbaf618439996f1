import { z } from 'zod'
import type { HostRepository, PullRequest, Sender } from '../host.ts'
import { isNoCommit, sha } from '../signed-body.ts'

/*
 * Bodies of webhooks and responses, by https://docs.github.com/webhooks/webhook-events-and-payloads and https://docs.github.com/rest. The
 * names of members are the same in both.
 */

/** Null for an account that was deleted. */
const user = z.object({ login: z.string(), avatar_url: z.string(), html_url: z.string() }).nullish()

export const repository = z.object({
  full_name: z.string(),
  html_url: z.string(),
  clone_url: z.string(),
  ssh_url: z.string().nullish(),
  default_branch: z.string(),
})

/** The part of `repository` that every event has, even one that is ignored. */
export const named = z.object({ repository: z.object({ full_name: z.string() }).optional() })

export const pullRequest = z.object({
  number: z.int(),
  title: z.string(),
  body: z.string().nullish(),
  html_url: z.string(),
  user,
  // Null if the fork was deleted.
  head: z.object({ ref: z.string(), sha, repo: z.object({ id: z.int() }).nullish() }),
  base: z.object({ ref: z.string(), sha, repo: z.object({ id: z.int() }) }),
  merged_at: z.string().nullish(),
  // Before the merge, the commit of a test merge.
  merge_commit_sha: sha.nullish(),
})

const commit = z.object({
  id: sha,
  message: z.string(),
  url: z.string(),
  added: z.array(z.string()).optional(),
  removed: z.array(z.string()).optional(),
  modified: z.array(z.string()).optional(),
})

export const pushBody = z.object({
  ref: z.string(),
  before: sha,
  after: sha,
  forced: z.boolean(),
  compare: z.string(),
  commits: z.array(commit),
  /** Null if the ref was deleted. Of an annotated tag, the commit that it names, whereas `after` is the tag. */
  head_commit: commit.nullish(),
  repository,
  sender: user,
})
export type PushBody = z.output<typeof pushBody>

export const pullRequestBody = z.object({
  action: z.string(),
  pull_request: pullRequest,
  changes: z.object({ base: z.object({ ref: z.object({ from: z.string() }) }).optional() }).optional(),
  repository,
  sender: user,
})

export const account = z.object({ login: z.string() })
export const repositoryList = z.array(repository)
export const installationRepositories = z.object({ repositories: repositoryList })
export const namedList = z.array(z.object({ name: z.string() }))
export const webhookList = z.array(z.object({ id: z.int(), config: z.object({ url: z.string().optional() }) }))
export const withId = z.object({ id: z.int() })

export const installation = z.object({
  id: z.int(),
  html_url: z.string(),
  target_type: z.string(),
  suspended_at: z.string().nullish(),
  account: z.object({ login: z.string(), avatar_url: z.string() }).nullable(),
})

export const installationToken = z.object({ token: z.string().min(1) })

export function sender(user: z.output<typeof pullRequest>['user']): Sender {
  // GitHub shows the same name for accounts that were deleted.
  return { username: user?.login ?? 'ghost', avatarUrl: user?.avatar_url ?? '', pageUrl: user?.html_url ?? '' }
}

export function hostRepository(body: z.output<typeof repository>): HostRepository {
  return {
    identifier: body.full_name,
    displayIdentifier: body.full_name,
    page: body.html_url,
    clone: body.clone_url,
    ssh: body.ssh_url ?? null,
    defaultBranch: body.default_branch,
  }
}

export function hostPullRequest(body: z.output<typeof pullRequest>): PullRequest {
  return {
    number: body.number,
    title: body.title,
    body: body.body ?? '',
    url: body.html_url,
    // The API has no message here; git has it.
    head: { sha: body.head.sha, message: '', url: `${body.html_url}/commits/${body.head.sha}`, branch: body.head.ref },
    base: { branch: body.base.ref, sha: body.base.sha },
    isFork: body.head.repo?.id !== body.base.repo.id,
    headRef: `refs/pull/${body.number}/head`,
    mergeSha: body.merged_at ? (body.merge_commit_sha ?? null) : null,
    author: sender(body.user),
  }
}

/** The body has at most 2048 commits of a push, and 3000 files of a commit. */
const MAX_COMMITS = 2048
const MAX_FILES = 3000

/** Paths changed by a push, or null if the body cannot list all of them. */
export function changedFiles({ before, forced, commits, head_commit: head }: PushBody): string[] | null {
  // Of a new branch there is nothing to compare with, and a forced push also undoes commits that the body does not list.
  if (forced || isNoCommit(before) || commits.length === 0 || commits.length >= MAX_COMMITS) return null
  if (commits.at(-1)?.id !== head?.id) return null
  const files = new Set<string>()
  for (const { added, removed, modified } of commits) {
    if (!added || !removed || !modified) return null
    const changed = [...added, ...removed, ...modified]
    if (changed.length >= MAX_FILES) return null
    for (const path of changed) files.add(path)
  }
  return [...files]
}
