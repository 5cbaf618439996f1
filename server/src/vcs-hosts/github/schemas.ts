import { z } from 'zod'
import { sha } from '../bodies.ts'

/*
 * Bodies of webhooks and responses, by https://docs.github.com/webhooks/webhook-events-and-payloads and https://docs.github.com/rest. The
 * names of members are the same in both.
 */

/** Null for an account that was deleted. */
const account = z.looseObject({ login: z.string(), avatar_url: z.string(), html_url: z.string() }).nullish()
export type GithubAccount = z.infer<typeof account>

export const repositorySchema = z.looseObject({
  full_name: z.string(),
  html_url: z.string(),
  clone_url: z.string(),
  ssh_url: z.string().nullish(),
  default_branch: z.string(),
})

/** The part of `repository` that every event has, even one that is ignored. */
export const anyHookSchema = z.looseObject({ repository: z.looseObject({ full_name: z.string() }).optional() })

/** Webhooks of a GitHub App name the installation. */
export const appHookSchema = z.looseObject({
  action: z.string().optional(),
  installation: z.looseObject({ id: z.int() }).optional(),
})

export const pullRequestSchema = z.looseObject({
  number: z.int(),
  title: z.string(),
  body: z.string().nullish(),
  html_url: z.string(),
  user: account,
  // Null if the fork was deleted.
  head: z.looseObject({ ref: z.string(), sha, repo: z.looseObject({ id: z.int() }).nullish() }),
  base: z.looseObject({ ref: z.string(), sha, repo: z.looseObject({ id: z.int() }) }),
  merged_at: z.string().nullish(),
  // Before the merge, the commit of a test merge.
  merge_commit_sha: sha.nullish(),
})
export type GithubPullRequest = z.infer<typeof pullRequestSchema>

const commit = z.looseObject({
  id: sha,
  message: z.string(),
  url: z.string(),
  added: z.array(z.string()).optional(),
  removed: z.array(z.string()).optional(),
  modified: z.array(z.string()).optional(),
})

export const pushSchema = z.looseObject({
  ref: z.string(),
  before: sha,
  after: sha,
  forced: z.boolean(),
  compare: z.string(),
  commits: z.array(commit),
  /** Null if the ref was deleted. Of an annotated tag, the commit that it names, whereas `after` is the tag. */
  head_commit: commit.nullish(),
  repository: repositorySchema,
  sender: account,
})
export type GithubPush = z.infer<typeof pushSchema>

export const pullRequestHookSchema = z.looseObject({
  action: z.string(),
  pull_request: pullRequestSchema,
  changes: z.looseObject({ base: z.looseObject({ ref: z.looseObject({ from: z.string() }) }).optional() }).optional(),
  repository: repositorySchema,
  sender: account,
})

export const userSchema = z.looseObject({ login: z.string() })
export const installationRepositoriesSchema = z.looseObject({ repositories: z.array(repositorySchema) })
export const branchSchema = z.looseObject({ name: z.string() })
export const hookSchema = z.looseObject({ id: z.int(), config: z.looseObject({ url: z.string().optional() }) })
export const commentSchema = z.looseObject({ id: z.int() })
export const listedCommentSchema = z.looseObject({ id: z.int(), body: z.string() })

export const installationSchema = z.looseObject({
  id: z.int(),
  html_url: z.string(),
  target_type: z.string(),
  suspended_at: z.string().nullish(),
  account: z.looseObject({ login: z.string(), avatar_url: z.string() }).nullable(),
})

export const userInstallationsSchema = z.looseObject({ installations: z.array(z.looseObject({ id: z.int() })) })
export const repositoryCountSchema = z.looseObject({ total_count: z.int() })
export const installationTokenSchema = z.looseObject({ token: z.string().min(1) })
