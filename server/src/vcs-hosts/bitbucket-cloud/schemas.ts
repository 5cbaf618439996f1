import { z } from 'zod'
import { sha } from '../bodies.ts'

/* Bodies of webhooks (Atlassian documentation, "Event payloads") and of the REST API 2.0, reduced to what is read. */

const link = z.looseObject({ href: z.string() })

const account = z.looseObject({
  display_name: z.string().optional(),
  nickname: z.string().optional(),
  links: z.looseObject({ html: link.optional(), avatar: link.optional() }).default({}),
})
export type BitbucketAccount = z.infer<typeof account>

const namedRepository = z.looseObject({
  full_name: z.string(),
  links: z.looseObject({ html: link.optional() }).default({}),
})

const change = z.looseObject({
  type: z.string(),
  name: z.string(),
  target: z.looseObject({
    hash: sha,
    message: z.string().optional(),
    links: z.looseObject({ html: link.optional() }).default({}),
  }),
})

export const pushSchema = z.looseObject({
  actor: account,
  repository: namedRepository,
  push: z.looseObject({
    changes: z.array(
      z.looseObject({
        /** Null for a new branch or tag. */
        old: change.nullable(),
        /** Null for a deletion. */
        new: change.nullable(),
        links: z.looseObject({ html: link.optional() }).default({}),
      }),
    ),
  }),
})

/** Pull requests abbreviate ids to 12 digits. */
const shortSha = z.string().regex(/^[0-9a-f]{12,64}$/, 'it must be the id of a commit')

const side = z.looseObject({
  branch: z.looseObject({ name: z.string() }),
  /** Null if the commit is gone. */
  commit: z.looseObject({ hash: shortSha, links: z.looseObject({ html: link.optional() }).default({}) }).nullable(),
  /** Null if it was deleted. */
  repository: namedRepository.nullable(),
})

export const pullRequestSchema = z.looseObject({
  id: z.int(),
  title: z.string(),
  description: z.string().nullish(),
  state: z.string(),
  author: account.nullable(),
  source: side,
  destination: side,
  merge_commit: z.looseObject({ hash: shortSha }).nullish(),
  links: z.looseObject({ html: link }),
})
export type BitbucketPullRequest = z.infer<typeof pullRequestSchema>

export const pullRequestHookSchema = z.looseObject({
  actor: account,
  repository: namedRepository,
  pullrequest: pullRequestSchema,
})

export const anyHookSchema = z.looseObject({ repository: namedRepository.optional() })

export const userSchema = account
export const workspaceSchema = z.looseObject({
  workspace: z.looseObject({ uuid: z.string(), slug: z.string().nullish() }),
})
export const branchSchema = z.looseObject({ name: z.string() })
export const hookSchema = z.looseObject({ uuid: z.string(), url: z.string() })
export const commentSchema = z.looseObject({ id: z.int(), deleted: z.boolean().optional() })
export const listedCommentSchema = commentSchema.extend({ content: z.looseObject({ raw: z.string() }).nullish() })
export const commitSchema = z.looseObject({ hash: sha, message: z.string() })

export const repositorySchema = z.looseObject({
  full_name: z.string(),
  /** Null in an empty repository. */
  mainbranch: z.looseObject({ name: z.string() }).nullish(),
  links: z.looseObject({ html: link, clone: z.array(z.looseObject({ name: z.string(), href: z.string() })) }),
})

/** `next` is the address of the next page. */
export const pageOf = <T>(row: z.ZodType<T>) => z.looseObject({ values: z.array(row), next: z.string().optional() })
