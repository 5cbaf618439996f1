import type { DocumentsHeader, ResultHeader } from '@groundstate/contract/agent'
import { openParcel } from '@groundstate/contract/parcel'
import type { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { announce, runNotice } from '../../../changes/announce.ts'
import { badRequest } from '../../../errors.ts'
import { documentsTopic, isDocument } from '../plans/artifact.ts'
import { acceptsLate, jobGone, owesDocuments } from './access.ts'
import { countColumns } from './counts.ts'
import { finishJob } from './finish.ts'
import { putArtifact } from './put-artifact.ts'
import { type Job, updateOwedDocuments } from './store.ts'

/** A parcel whose header is read and checked. */
export type Parcel<Header> = { header: Header; content: Buffer }

/** Reads the header of a parcel. Throws `bad-request` when there is none, or not the right one. */
export function readParcel<Header>(bytes: Buffer, schema: z.ZodType<Header>): Parcel<Header> {
  const parcel = openParcel(bytes)
  const header = schema.safeParse(parcel?.header)
  if (!parcel || !header.success)
    throw badRequest(`the first line must be the header: ${header.error?.message ?? 'JSON'}`)
  return { header: header.data, content: Buffer.from(parcel.content) }
}

/** Stores the files of a result, durably, and then its log and its outcome, as `finishJob` does, whose answer it returns. */
export async function receiveResult(ctx: Ctx, job: Job, { header, content }: Parcel<ResultHeader>) {
  const { outcome, log, files, takesApply } = header
  const pieces = cut(content, [log?.size ?? 0, ...files.map(({ size }) => size)])
  // One that is repeated, since its answer was lost, has left its files.
  if (job.status === 'running' || acceptsLate(job, ctx.now()))
    await putFiles(ctx, job, { files, pieces: pieces.slice(1) })
  const rest = log && { log: { offset: log.offset, bytes: pieces[0] ?? Buffer.alloc(0) } }
  return finishJob(ctx, job, { ...outcome, ...rest }, { takesApply })
}

/** Stores the documents that a plan has owed, or why there are none. Throws `conflict` when it owes none, and `bad-request` for other files. */
export async function receiveDocuments(ctx: Ctx, job: Job, { header, content }: Parcel<DocumentsHeader>) {
  const { files, problem } = header
  if (!owesDocuments(job, ctx.now())) throw jobGone(job.id)
  const other = files.find(({ kind }) => !isDocument(kind))
  if (other) throw badRequest(`only the JSON of a plan may follow it, and not its ${other.kind}`)
  const pieces = cut(
    content,
    files.map(({ size }) => size),
  )
  await putFiles(ctx, job, { files, pieces })
  await updateOwedDocuments(ctx.db, job, problem === undefined ? countColumns(header) : { documents_error: problem })
  ctx.signals.publish(ctx.db, documentsTopic(job.phase_id))
  announce(ctx, runNotice({ ...job, id: job.run_id }))
}

type Files = { files: ResultHeader['files']; pieces: readonly Buffer[] }

async function putFiles(ctx: Ctx, job: Job, { files, pieces }: Files) {
  const puts = files.map(async ({ kind }, index) =>
    putArtifact(ctx, job, { kind, content: pieces[index] ?? Buffer.alloc(0) }),
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
