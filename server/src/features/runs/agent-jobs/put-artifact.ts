import type { Readable } from 'node:stream'
import type { ArtifactKind } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { BlobExistsError, BlobTooLargeError } from '../../../blobs/errors.ts'
import { tooLarge } from '../../../errors.ts'
import { artifactKey } from '../plans/artifact.ts'
import type { Job } from './store.ts'

export const MAX_ARTIFACT_BYTES = 1024 ** 3
/** These are archives already. */
const COMPRESSED: ReadonlySet<ArtifactKind> = new Set(['plan-file'])

/** Stores a file of a job; it is durable afterwards. A stored file is not replaced: an agent repeats the same content. */
export async function putArtifact(
  ctx: Ctx,
  job: Job,
  { kind, content }: { kind: ArtifactKind; content: Readable | Buffer },
) {
  try {
    await ctx.blobs.put(artifactKey(job.run_id, job.id, kind), content, {
      maxBytes: MAX_ARTIFACT_BYTES,
      compress: !COMPRESSED.has(kind),
    })
  } catch (error) {
    if (error instanceof BlobTooLargeError) throw tooLarge(error.message)
    if (!(error instanceof BlobExistsError)) throw error
    if (!Buffer.isBuffer(content)) content.resume()
  }
}
