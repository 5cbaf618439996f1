import type { Readable } from 'node:stream'
import type { ArtifactKind } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { BlobExistsError, BlobNotFoundError, BlobTooLargeError } from '../../../blobs/errors.ts'
import { notFound, tooLarge } from '../../../errors.ts'
import { artifactKey } from '../plans/service.ts'
import type { Job } from './job.ts'

export const MAX_ARTIFACT_BYTES = 1024 ** 3
/** These are archives already. */
const COMPRESSED: ReadonlySet<ArtifactKind> = new Set(['plan-file'])

/** Keeps a file of a job; durable when it returns. What was sent before stays: an agent that sends again sends the same. */
export async function putArtifact(ctx: Ctx, job: Job, { kind, content }: { kind: ArtifactKind; content: Readable }) {
  try {
    await ctx.blobs.put(artifactKey(job.run_id, job.id, kind), content, {
      maxBytes: MAX_ARTIFACT_BYTES,
      compress: !COMPRESSED.has(kind),
    })
  } catch (error) {
    if (error instanceof BlobTooLargeError) throw tooLarge(error.message)
    if (!(error instanceof BlobExistsError)) throw error
    content.resume()
  }
}

/** A file of this job, or of the plan that it applies. Throws `not-found`. */
export async function openArtifact(ctx: Ctx, job: Job, kind: ArtifactKind): Promise<Readable> {
  const jobId = job.kind === 'apply' ? (job.plan_job_id ?? job.id) : job.id
  return ctx.blobs.open(artifactKey(job.run_id, jobId, kind)).catch((error: unknown) => {
    if (error instanceof BlobNotFoundError) throw notFound(kind)
    throw error
  })
}
