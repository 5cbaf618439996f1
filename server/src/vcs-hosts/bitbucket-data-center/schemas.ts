import { z } from 'zod'
import { sha } from '../bodies.ts'

/* Bodies of webhooks (Atlassian documentation, "Event payload") and of the REST API 1.0, reduced to what is read. */

/** Versions before 7 lack the links in webhooks. */
const links = z.looseObject({ self: z.array(z.looseObject({ href: z.string() })).optional() }).default({})

const user = z.looseObject({ name: z.string(), links })
export type BitbucketUser = z.infer<typeof user>

const repositoryOfHook = z.looseObject({
  id: z.int(),
  slug: z.string(),
  project: z.looseObject({ key: z.string() }),
  links,
})
export type RepositoryOfHook = z.infer<typeof repositoryOfHook>

export const pushSchema = z.looseObject({
  actor: user,
  repository: repositoryOfHook,
  changes: z.array(
    z.looseObject({
      ref: z.looseObject({ displayId: z.string(), type: z.enum(['BRANCH', 'TAG']) }),
      fromHash: sha,
      toHash: sha,
    }),
  ),
  /** Since version 7. */
  toCommit: z.looseObject({ id: sha, message: z.string() }).nullish(),
})
export type BitbucketPush = z.infer<typeof pushSchema>

const side = z.looseObject({
  id: z.string(),
  displayId: z.string(),
  latestCommit: sha,
  repository: repositoryOfHook,
})

export const pullRequestSchema = z.looseObject({
  id: z.int(),
  title: z.string(),
  description: z.string().nullish(),
  fromRef: side,
  toRef: side,
  author: z.looseObject({ user }),
  links,
  properties: z.looseObject({ mergeCommit: z.looseObject({ id: sha }).optional() }).default({}),
})
export type BitbucketPullRequest = z.infer<typeof pullRequestSchema>

export const pullRequestHookSchema = z.looseObject({
  actor: user,
  pullRequest: pullRequestSchema,
  /** Only in `pr:modified`. */
  previousTarget: z.looseObject({ id: z.string() }).nullish(),
})

export const anyHookSchema = z.looseObject({ repository: repositoryOfHook.optional() })

export const repositorySchema = z.looseObject({
  slug: z.string(),
  project: z.looseObject({ key: z.string() }),
  links: z.looseObject({
    self: z.array(z.looseObject({ href: z.string() })).min(1),
    clone: z.array(z.looseObject({ name: z.string(), href: z.string() })).default([]),
  }),
})
export type BitbucketRepository = z.infer<typeof repositorySchema>

export const projectSchema = z.looseObject({ key: z.string() })
export const branchSchema = z.looseObject({ displayId: z.string() })
export const hookSchema = z.looseObject({ id: z.int(), url: z.string() })
export const commentSchema = z.looseObject({ id: z.int(), version: z.int() })
/** Without a comment for approvals, merges and the like. */
export const activitySchema = z.looseObject({
  commentAction: z.string().optional(),
  comment: z.looseObject({ id: z.int(), text: z.string() }).optional(),
})
export const commitSchema = z.looseObject({ id: sha, message: z.string() })

export const pageOf = <T>(row: z.ZodType<T>) =>
  z.looseObject({ values: z.array(row), isLastPage: z.boolean(), nextPageStart: z.int().nullish() })
