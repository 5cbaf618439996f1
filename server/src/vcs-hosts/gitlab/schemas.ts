import { z } from 'zod'
import { sha } from '../bodies.ts'

/* Bodies of webhooks (GitLab documentation, "Webhook events") and of the REST API, reduced to what is read. */

const project = z.looseObject({ web_url: z.string(), path_with_namespace: z.string() })

export const pushSchema = z.looseObject({
  before: sha,
  after: sha,
  ref: z.string(),
  /** The commit of an annotated tag; null for a deletion. */
  checkout_sha: sha.nullish(),
  user_name: z.string(),
  user_username: z.string().nullish(),
  user_avatar: z.string().nullish(),
  project,
  commits: z.array(z.looseObject({ id: z.string(), message: z.string() })).default([]),
})
export type GitLabPush = z.infer<typeof pushSchema>

export const mergeRequestHookSchema = z.looseObject({
  user: z.looseObject({
    id: z.int().optional(),
    name: z.string(),
    username: z.string(),
    avatar_url: z.string().nullish(),
  }),
  project,
  object_attributes: z.looseObject({
    iid: z.int(),
    title: z.string(),
    description: z.string().nullish(),
    author_id: z.int(),
    url: z.string(),
    action: z.string().optional(),
    /** The previous head; only if commits were pushed. */
    oldrev: z.string().nullish(),
    source_branch: z.string(),
    target_branch: z.string(),
    source_project_id: z.int().nullable(),
    target_project_id: z.int(),
    last_commit: z.looseObject({ id: sha, message: z.string(), url: z.string() }),
    merge_commit_sha: sha.nullish(),
  }),
  changes: z.looseObject({ target_branch: z.unknown().optional() }).default({}),
})
export type GitLabMergeRequestHook = z.infer<typeof mergeRequestHookSchema>

export const kindSchema = z.looseObject({ object_kind: z.string(), project: project.optional() })

export const userSchema = z.looseObject({ username: z.string() })

export const projectSchema = z.looseObject({
  path_with_namespace: z.string(),
  web_url: z.string(),
  http_url_to_repo: z.string(),
  ssh_url_to_repo: z.string().nullish(),
  /** Absent in an empty project. */
  default_branch: z.string().nullish(),
})

/** A page of the library, with `showExpanded`. */
export const expandedOf = <T>(row: z.ZodType<T>) =>
  z.looseObject({ data: z.array(row), paginationInfo: z.looseObject({ next: z.int().nullable() }) })

export const groupSchema = z.looseObject({ full_path: z.string() })
export const branchSchema = z.looseObject({ name: z.string() })
export const commitSchema = z.looseObject({ message: z.string() })
export const hookSchema = z.looseObject({ id: z.int(), url: z.string() })
export const noteSchema = z.looseObject({ id: z.int() })
export const listedNoteSchema = noteSchema.extend({ body: z.string() })

export const mergeRequestSchema = z.looseObject({
  iid: z.int(),
  title: z.string(),
  description: z.string().nullish(),
  state: z.string(),
  web_url: z.string(),
  sha,
  source_branch: z.string(),
  target_branch: z.string(),
  source_project_id: z.int().nullable(),
  target_project_id: z.int(),
  author: z.looseObject({ username: z.string(), avatar_url: z.string().nullish(), web_url: z.string() }),
  merge_commit_sha: sha.nullish(),
  squash_commit_sha: sha.nullish(),
  /** Not in lists. */
  diff_refs: z.looseObject({ start_sha: sha.nullish() }).nullish(),
})
export type GitLabMergeRequest = z.infer<typeof mergeRequestSchema>
