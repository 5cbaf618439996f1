import type { Readable } from 'node:stream'
import type { ArtifactKind, DocumentsHeader, ResultHeader } from '@groundstate/contract/agent'
import { openEnvelope } from '@groundstate/contract/envelope'
import type { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { BlobExistsError, BlobNotFoundError, BlobTooLargeError } from '../../../blobs/errors.ts'
import { announce, runNotice } from '../../../changes/announce.ts'
import { badRequest, notFound, tooLarge } from '../../../errors.ts'
import { artifactKey, documentsTopic, isDocument } from '../plans/artifact.ts'
import { acceptsLate, jobGone, owesDocuments } from './access.ts'
import { finishJob } from './finish.ts'
import { type Job, countColumns, updateOwedDocuments } from './store.ts'

/** A parcel whose header is read and checked. */
type Envelope<Header> = { header: Header; content: Buffer }

/** Reads the header of a parcel. Throws `bad-request` when there is none, or not the right one. */
export function readEnvelope<Header>(bytes: Buffer, schema: z.ZodType<Header>): Envelope<Header> {
  const envelope = openEnvelope(bytes)
  const header = schema.safeParse(envelope?.header)
  if (!envelope || !header.success)
    throw badRequest(`the first line must be the header: ${header.error?.message ?? 'JSON'}`)
  return { header: header.data, content: Buffer.from(envelope.content) }
}

/** Stores the files of a result, durably, and then its log and its outcome, as `finishJob` does, whose response it returns. */
export async function receiveResult(ctx: Ctx, job: Job, { header, content }: Envelope<ResultHeader>) {
  const { outcome, log, files, takesApply } = header
  const chunks = cut(content, [log?.size ?? 0, ...files.map(({ size }) => size)])
  // One that is repeated, since its response was lost, has left its files.
  if (job.status === 'running' || acceptsLate(job, ctx.now()))
    await putFiles(ctx, job, { files, chunks: chunks.slice(1) })
  const rest = log && { log: { offset: log.offset, bytes: chunks[0] ?? Buffer.alloc(0) } }
  return finishJob(ctx, job, { ...outcome, ...rest }, { takesApply })
}

/** Stores the pending documents of a plan, or the reason for their absence. Throws `conflict` when none are pending, and `bad-request` for other files. */
export async function receiveDocuments(ctx: Ctx, job: Job, { header, content }: Envelope<DocumentsHeader>) {
  const { files, problem } = header
  if (!owesDocuments(job, ctx.now())) throw jobGone(job.id)
  const other = files.find(({ kind }) => !isDocument(kind))
  if (other) throw badRequest(`only the JSON of a plan may follow it, and not its ${other.kind}`)
  const chunks = cut(
    content,
    files.map(({ size }) => size),
  )
  await putFiles(ctx, job, { files, chunks })
  await updateOwedDocuments(ctx.db, job, problem === undefined ? countColumns(header) : { documents_error: problem })
  ctx.signals.publish(ctx.db, documentsTopic(job.phase_id))
  announce(ctx, runNotice({ ...job, id: job.run_id }))
}

type Files = { files: ResultHeader['files']; chunks: readonly Buffer[] }

async function putFiles(ctx: Ctx, job: Job, { files, chunks }: Files) {
  const puts = files.map(async ({ kind }, index) =>
    putArtifact(ctx, job, { kind, content: chunks[index] ?? Buffer.alloc(0) }),
  )
  await Promise.all(puts)
}

function cut(content: Buffer, sizes: readonly number[]): Buffer[] {
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total !== content.length) throw badRequest(`${total} bytes must follow the header, and not ${content.length}`)
  let at = 0
  return sizes.map((size) => {
    at += size
    return content.subarray(at - size, at)
  })
}

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

/** A file of this job, or of the plan that it applies. Throws `not-found`. */
export async function openArtifact(ctx: Ctx, job: Job, kind: ArtifactKind): Promise<Readable> {
  const jobId = job.kind === 'apply' ? (job.plan_job_id ?? job.id) : job.id
  return ctx.blobs.open(artifactKey(job.run_id, jobId, kind)).catch((error: unknown) => {
    if (error instanceof BlobNotFoundError) throw notFound(kind)
    throw error
  })
}
