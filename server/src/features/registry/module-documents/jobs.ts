import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { jobHandler, reaction, scheduledJob } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { moduleVersionPublished } from '../registry-modules/access.ts'
import { documentVersion } from './service.ts'
import { listUndocumented } from './store.ts'

const documentJob = jobKind('module-documents.read', z.object({ versionId: z.string() }), {
  concurrency: 1,
  retryLimit: 5,
})

export const moduleDocumentReactions = [
  reaction(moduleVersionPublished, async (ctx, { versionId }) => ctx.jobs.enqueue(ctx.db, documentJob, { versionId })),
]

export const moduleDocumentJobs = [
  jobHandler(documentJob, async (ctx, { versionId }) => documentVersion(ctx, versionId)),
  scheduledJob('module-documents.resume', '27 * * * *', resumeDocuments),
]

/** Age at which a version has had time for all attempts of its job, in ms. */
const STALLED_MS = 3_600_000

/** Has versions documented whose job is gone, for instance because blobs could not be read for a while. */
export async function resumeDocuments(ctx: Ctx) {
  const stalled = await listUndocumented(ctx.db, new Date(ctx.now().getTime() - STALLED_MS))
  const jobs = stalled.map((versionId) => ({ versionId }))
  await transact(ctx, async (ctx) => ctx.jobs.enqueueAll(ctx.db, documentJob, jobs))
}
