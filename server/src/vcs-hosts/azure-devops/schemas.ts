import { z } from 'zod'
import { sha } from '../bodies.ts'

/* Bodies of service hooks (Microsoft documentation, "Service hook events") and of the REST API 5.0, reduced to what is read. */

const person = z.looseObject({
  displayName: z.string(),
  uniqueName: z.string().nullish(),
  imageUrl: z.string().nullish(),
})
export type AzurePerson = z.infer<typeof person>

export const repositorySchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  project: z.looseObject({ id: z.string(), name: z.string() }),
  /** Absent in an empty repository. */
  defaultBranch: z.string().nullish(),
  remoteUrl: z.url(),
  sshUrl: z.string().nullish(),
  webUrl: z.string().nullish(),
  isDisabled: z.boolean().optional(),
})
export type AzureRepository = z.infer<typeof repositorySchema>

/** All events have an id, which repetitions share. */
export const eventSchema = z.looseObject({ id: z.string(), eventType: z.string() })

export const pushSchema = z.looseObject({
  resource: z.looseObject({
    /** Absent for deletions. */
    commits: z.array(z.looseObject({ commitId: sha, comment: z.string().nullish() })).nullish(),
    refUpdates: z.array(z.looseObject({ name: z.string(), oldObjectId: sha, newObjectId: sha })),
    repository: repositorySchema,
    pushedBy: person,
  }),
})

const commit = z.looseObject({ commitId: sha })

/** In lists, `repository` lacks its addresses. */
export const listedPullRequestSchema = z.looseObject({
  pullRequestId: z.int(),
  status: z.string(),
  title: z.string(),
  description: z.string().nullish(),
  createdBy: person,
  sourceRefName: z.string(),
  targetRefName: z.string(),
  lastMergeSourceCommit: commit,
  lastMergeTargetCommit: commit.nullish(),
  lastMergeCommit: commit.nullish(),
  forkSource: z.looseObject({}).nullish(),
})
export type ListedPullRequest = z.infer<typeof listedPullRequestSchema>
export const pullRequestSchema = listedPullRequestSchema.extend({ repository: repositorySchema })

export const pullRequestHookSchema = z.looseObject({ resource: pullRequestSchema })

export const profileSchema = z.looseObject({ id: z.string(), displayName: z.string() })
export const connectionDataSchema = z.looseObject({
  authenticatedUser: z.looseObject({ providerDisplayName: z.string() }),
})
export const accountSchema = z.looseObject({ accountName: z.string() })
export const collectionSchema = z.looseObject({ name: z.string() })
export const refSchema = z.looseObject({ name: z.string() })
export const commitSchema = z.looseObject({ comment: z.string().nullish() })
export const subscriptionSchema = z.looseObject({
  id: z.string(),
  consumerInputs: z.looseObject({ url: z.string().nullish() }).default({}),
})
export const threadSchema = z.looseObject({ id: z.int() })
export const commentSchema = z.looseObject({ id: z.int(), isDeleted: z.boolean().nullish() })
export const listedThreadSchema = threadSchema.extend({
  isDeleted: z.boolean().nullish(),
  comments: z.array(commentSchema.extend({ content: z.string().nullish() })).nullish(),
})

export const listOf = <T>(row: z.ZodType<T>) => z.looseObject({ value: z.array(row) })
