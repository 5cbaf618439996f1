import { z } from 'zod'
import { sha } from '../bodies.ts'

/*
 * Bodies of webhooks and responses of Gitea and Forgejo, by https://docs.gitea.com/usage/webhooks, https://forgejo.org/docs/latest/user/webhooks
 * and the API reference that each server has at `/api/swagger`. The names of members are the same in all.
 */

const account = z.looseObject({
  login: z.string(),
  avatar_url: z.string().optional(),
  /** Missing before Gitea 1.21. */
  html_url: z.string().optional(),
})
export type GiteaAccount = z.infer<typeof account>

export const repositorySchema = z.looseObject({
  full_name: z.string(),
  html_url: z.string(),
  clone_url: z.string(),
  ssh_url: z.string().nullish(),
  default_branch: z.string(),
})

/** The part of `repository` that every event has, even one that is ignored. */
export const anyHookSchema = z.looseObject({ repository: z.looseObject({ full_name: z.string() }).nullish() })

/** Empty if the branch was deleted. */
const branchSha = z.union([sha, z.literal('')])

export const pullRequestSchema = z.looseObject({
  number: z.int(),
  title: z.string(),
  body: z.string().nullish(),
  html_url: z.string(),
  user: account.nullish(),
  // The label is the name of the branch; after its deletion `ref` is the ref of the pull request.
  head: z.looseObject({ label: z.string(), ref: z.string(), sha: branchSha, repo_id: z.int() }),
  base: z.looseObject({ ref: z.string(), sha: branchSha, repo_id: z.int() }),
  merged: z.boolean(),
  merge_commit_sha: sha.nullish(),
  /** 1 for a pull request that was pushed to `refs/for/`. Forgejo only. */
  flow: z.int().optional(),
})
export type GiteaPullRequest = z.infer<typeof pullRequestSchema>

const commit = z.looseObject({ id: sha, message: z.string(), url: z.string() })

export const pushSchema = z.looseObject({
  ref: z.string(),
  before: sha,
  after: sha,
  compare_url: z.string(),
  /** Null if the ref was deleted. Of an annotated tag, the commit that it names, whereas `after` is the tag. */
  head_commit: commit.nullish(),
  repository: repositorySchema,
  sender: account,
})

/** Gitea reports the deletion of a branch only like this; that of a tag also as a push. */
export const deletionSchema = z.looseObject({
  ref: z.string(),
  ref_type: z.string(),
  repository: repositorySchema,
  sender: account,
})

export const pullRequestHookSchema = z.looseObject({
  action: z.string(),
  pull_request: pullRequestSchema,
  changes: z.looseObject({ ref: z.looseObject({ from: z.string() }).nullish() }).nullish(),
  repository: repositorySchema,
  sender: account,
})

export const userSchema = z.looseObject({ id: z.int(), login: z.string() })
/** Old versions have only the user name, which new ones deprecate. */
export const organizationSchema = z.looseObject({ name: z.string().optional(), username: z.string().optional() })
export const foundRepositoriesSchema = z.looseObject({ data: z.array(repositorySchema) })
export const branchSchema = z.looseObject({ name: z.string() })
export const hookSchema = z.looseObject({ id: z.int(), config: z.looseObject({ url: z.string().optional() }) })
export const commentSchema = z.looseObject({ id: z.int() })
export const listedCommentSchema = z.looseObject({ id: z.int(), body: z.string() })
