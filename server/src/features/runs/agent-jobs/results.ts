import type { Readable } from 'node:stream'
import {
  type ArtifactKind,
  type DocumentsHeader,
  MAX_ARTIFACT_BYTES,
  type ResultHeader,
} from '@groundstate/contract/agent'
import { openEnvelope } from '@groundstate/contract/envelope'
import type { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { BlobExistsError, BlobTooLargeError } from '../../../blobs/errors.ts'
import { announce, runNotice } from '../../../changes/announce.ts'
import { badRequest, notFound, tooLarge } from '../../../errors.ts'
import { artifactKey, documentsTopic, ifStored, isDocument } from '../plans/artifact.ts'
import { acceptsLateResult, hasPendingDocuments, jobEnded } from './access.ts'
import { finishJob } from './finish.ts'
import { type Job, countColumns, updatePendingDocuments } from './store.ts'

type Envelope<Header> = { header: Header; content: Buffer }

/** Opens an envelope and parses its header. Throws `bad-request` if it is invalid. */
export function readEnvelope<Header>(bytes: Buffer, schema: z.ZodType<Header>): Envelope<Header> {
  const envelope = openEnvelope(bytes)
  const header = schema.safeParse(envelope?.header)
  if (!envelope || !header.success)
    throw badRequest(`the first line must be the header: ${header.error?.message ?? 'JSON'}`)
  return { header: header.data, content: Buffer.from(envelope.content) }
}

/** Stores the files of a result durably, then its log and the result, with `finishJob`. */
export async function receiveResult(ctx: Ctx, job: Job, { header, content }: Envelope<ResultHeader>) {
  const { outcome, log, files, takesApply } = header
  const [logBytes = Buffer.alloc(0), ...chunks] = split(content, [log?.size ?? 0, ...files.map(({ size }) => size)])
  // A result repeated after a lost response has its files already.
  if (job.status === 'running' || acceptsLateResult(job, ctx.now())) await putFiles(ctx, job, { files, chunks })
  const rest = log && { log: { offset: log.offset, bytes: logBytes } }
  return finishJob(ctx, job, { ...outcome, ...rest }, { takesApply })
}

/** Stores pending documents of a plan, or why there are none. Throws `conflict` if none are pending, `bad-request` for other files. */
export async function receiveDocuments(ctx: Ctx, job: Job, { header, content }: Envelope<DocumentsHeader>) {
  const { files, problem } = header
  if (!hasPendingDocuments(job, ctx.now())) throw jobEnded(job.id)
  const other = files.find(({ kind }) => !isDocument(kind))
  if (other) throw badRequest(`only the JSON of a plan may be sent after its result, not its ${other.kind}`)
  const sizes = files.map(({ size }) => size)
  await putFiles(ctx, job, { files, chunks: split(content, sizes) })
  await updatePendingDocuments(ctx.db, job, problem === undefined ? countColumns(header) : { documents_error: problem })
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

function split(content: Buffer, sizes: readonly number[]): Buffer[] {
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total !== content.length) throw badRequest(`${total} bytes must follow the header, and not ${content.length}`)
  let end = 0
  return sizes.map((size) => content.subarray(end, (end += size)))
}

type Artifact = { kind: ArtifactKind; content: Readable | Buffer }

/** Stores a file of a job durably. A stored file is not replaced: an agent repeats the same content. */
export async function putArtifact(ctx: Ctx, job: Job, { kind, content }: Artifact) {
  // Plan files are compressed archives.
  const options = { maxBytes: MAX_ARTIFACT_BYTES, compress: kind !== 'plan-file' }
  try {
    await ctx.blobs.put(artifactKey(job.run_id, job.id, kind), content, options)
  } catch (error) {
    if (error instanceof BlobTooLargeError) throw tooLarge(error.message)
    if (!(error instanceof BlobExistsError)) throw error
    if (!Buffer.isBuffer(content)) content.resume()
  }
}

/** A file of this job, or of the plan that it applies. Throws `not-found`. */
export async function openArtifact(ctx: Ctx, job: Job, kind: ArtifactKind): Promise<Readable> {
  const jobId = job.kind === 'apply' ? (job.plan_job_id ?? job.id) : job.id
  const content = await ifStored(ctx.blobs.open(artifactKey(job.run_id, jobId, kind)))
  if (!content) throw notFound(kind)
  return content
}
