import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { findDownload } from './content-store.ts'
import { openObjectId } from './content-urls.ts'
import { openContent } from './content.ts'

/** The content that a signed download URL names, as it was stored. Throws `not-found`. */
export async function downloadContent(ctx: Ctx, objectId: string) {
  const object = openObjectId(ctx, objectId)
  if (object?.kind !== 'raw' && object?.kind !== 'json') throw notFound('object')
  const version = await findDownload(ctx.db, { id: object.id, kind: object.kind })
  if (!version || version.status !== 'finalized') throw notFound('object')
  const content = await openContent(ctx, version, object.kind)
  if (content === undefined) throw notFound('object')
  return { content, size: object.kind === 'raw' ? (version.size ?? undefined) : undefined }
}
