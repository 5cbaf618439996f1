import { z } from 'zod'
import type { HostRepository, PullRequest, Sender } from '../host.ts'
import { sha } from '../signed-body.ts'

/*
 * Bodies of webhooks and responses of Gitea and Forgejo, by https://docs.gitea.com/usage/webhooks, https://forgejo.org/docs/latest/user/webhooks
 * and the API reference that each server has at `/api/swagger`. The names of members are the same in all.
 */

const user = z.object({
  login: z.string(),
  avatar_url: z.string().optional(),
  /** Missing before Gitea 1.21. */
  html_url: z.string().optional(),
})

export const repository = z.object({
  full_name: z.string(),
  html_url: z.string(),
  clone_url: z.string(),
  ssh_url: z.string().nullish(),
  default_branch: z.string(),
})

/** The part of `repository` that every event has, even one that is ignored. */
export const named = z.object({ repository: z.object({ full_name: z.string() }).nullish() })

/** Empty if the branch was deleted. */
const branchSha = z.union([sha, z.literal('')])

export const pullRequest = z.object({
  number: z.int(),
  title: z.string(),
  body: z.string().nullish(),
  html_url: z.string(),
  user: user.nullish(),
  // The label is the name of the branch; after its deletion `ref` is the ref of the pull request.
  head: z.object({ label: z.string(), ref: z.string(), sha: branchSha, repo_id: z.int() }),
  base: z.object({ ref: z.string(), sha: branchSha, repo_id: z.int() }),
  merged: z.boolean(),
  merge_commit_sha: sha.nullish(),
  /** 1 for a pull request that was pushed to `refs/for/`. Forgejo only. */
  flow: z.int().optional(),
})
export type PullRequestBody = z.output<typeof pullRequest>

const commit = z.object({ id: sha, message: z.string(), url: z.string() })

export const pushBody = z.object({
  ref: z.string(),
  before: sha,
  after: sha,
  compare_url: z.string(),
  /** Null if the ref was deleted. Of an annotated tag, the commit that it names, whereas `after` is the tag. */
  head_commit: commit.nullish(),
  repository,
  sender: user,
})

/** Of a branch, Gitea reports a deletion only like this; of a tag, also as a push. */
export const deleteBody = z.object({ ref: z.string(), ref_type: z.string(), repository, sender: user })

export const pullRequestBody = z.object({
  action: z.string(),
  pull_request: pullRequest,
  changes: z.object({ ref: z.object({ from: z.string() }).nullish() }).nullish(),
  repository,
  sender: user,
})

export const account = z.object({ id: z.int(), login: z.string() })
/** Old versions have only the user name, which new ones deprecate. */
export const organizationList = z.array(z.object({ name: z.string().optional(), username: z.string().optional() }))
export const foundRepositories = z.object({ data: z.array(repository) })
export const branchList = z.array(z.object({ name: z.string() }))
export const webhookList = z.array(z.object({ id: z.int(), config: z.object({ url: z.string().optional() }) }))
export const withId = z.object({ id: z.int() })

export function sender(body: z.output<typeof user> | null | undefined): Sender {
  // Gitea shows the same name for accounts that were deleted.
  return { username: body?.login ?? 'Ghost', avatarUrl: body?.avatar_url ?? '', pageUrl: body?.html_url ?? '' }
}

export function hostRepository(body: z.output<typeof repository>): HostRepository {
  return {
    identifier: body.full_name,
    displayIdentifier: body.full_name,
    page: body.html_url,
    clone: body.clone_url,
    ssh: body.ssh_url || null,
    defaultBranch: body.default_branch,
  }
}

/** Undefined if the head does not exist any more. */
export function hostPullRequest(body: PullRequestBody): PullRequest | undefined {
  const { head, base } = body
  if (head.sha === '') return undefined
  // Everyone who may read the repository may push to `refs/for/`, so such a head is as untrusted as a fork, although it is not one.
  const isAgit = body.flow === 1 || head.label === ''
  return {
    number: body.number,
    title: body.title,
    body: body.body ?? '',
    url: body.html_url,
    // The API has no message here; git has it.
    head: {
      sha: head.sha,
      message: '',
      url: `${body.html_url}/commits/${head.sha}`,
      branch: head.label === '' ? head.ref : head.label,
    },
    base: { branch: base.ref, sha: base.sha },
    isFork: isAgit || head.repo_id !== base.repo_id,
    headRef: `refs/pull/${body.number}/head`,
    mergeSha: body.merged ? (body.merge_commit_sha ?? null) : null,
    author: sender(body.user),
  }
}
