import type { Readable } from 'node:stream'
import type { ArtifactKind } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { notFound } from '../../../errors.ts'
import { artifactKey } from '../plans/artifact.ts'
import type { Job } from './store.ts'

/** A file of this job, or of the plan that it applies. Throws `not-found`. */
export async function openArtifact(ctx: Ctx, job: Job, kind: ArtifactKind): Promise<Readable> {
  const jobId = job.kind === 'apply' ? (job.plan_job_id ?? job.id) : job.id
  return ctx.blobs.open(artifactKey(job.run_id, jobId, kind)).catch((error: unknown) => {
    if (error instanceof BlobNotFoundError) throw notFound(kind)
    throw error
  })
}
