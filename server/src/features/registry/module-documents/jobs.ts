import { z } from 'zod'
import { jobHandler, reaction } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { moduleVersionPublished } from '../registry-modules/access.ts'
import { documentVersion } from './service.ts'

const documentJob = jobKind('module-documents.read', z.object({ versionId: z.string() }), {
  concurrency: 1,
  retryLimit: 5,
})

export const moduleDocumentReactions = [
  reaction(moduleVersionPublished, async (ctx, { versionId }) => ctx.jobs.enqueue(ctx.db, documentJob, { versionId })),
]

export const moduleDocumentJobs = [
  jobHandler(documentJob, async (ctx, { versionId }) => documentVersion(ctx, versionId)),
]
