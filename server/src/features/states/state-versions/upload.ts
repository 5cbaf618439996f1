import type { Readable } from 'node:stream'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { BlobTooLargeError } from '../../../blobs/errors.ts'
import { conflict, notFound, tooLarge } from '../../../errors.ts'
import { finalizeStateVersion } from './new-version-store.ts'
import { type ContentKind, dropRefused, md5Of, newBlobKey, openContent, ROW_BYTES, sealContent } from './content.ts'
import { extractSmall } from './extraction-columns.ts'
import { EXTRACT } from './extract.ts'
import { Gathered } from './growing-buffer.ts'
import { openObjectId } from './content-urls.ts'
import { checkContent, checkJsonState } from './new-state.ts'
import * as store from './store.ts'
import { auditRow } from '../../../audit/record.ts'

/** The largest content that is taken, in bytes. */
export const MAX_CONTENT_BYTES = 512 * 1024 * 1024

/** Content on its way, and the size that was announced for it. */
export type Upload = { body: Readable; declaredBytes: number | undefined }

/**
 * Takes the content of a pending version from its upload URL, which is its own authorisation; the version is finalized
 * when this resolves. What can't be taken leaves the version pending and its URL usable. The JSON state may come before
 * or after the raw one, and finalizes nothing.
 *
 * Throws `not-found` for a URL that is not ours or too old, `conflict` for a second upload or a superseded version,
 * `invalid` for content that is not what was declared.
 */
export async function uploadContent(ctx: Ctx, objectId: string, upload: Upload) {
  const object = openObjectId(ctx, objectId)
  try {
    if (object?.kind === 'raw-upload') return await uploadRaw(ctx, object.id, upload)
    if (object?.kind === 'json-upload') return await uploadJson(ctx, object.id, upload)
  } catch (error) {
    if (error instanceof BlobTooLargeError) throw tooLarge(`a state may have ${MAX_CONTENT_BYTES} bytes at most`)
    throw error
  }
  throw notFound('upload')
}

async function uploadRaw(ctx: Ctx, id: string, upload: Upload) {
  const version = await requireAwaiting(ctx, id, 'raw')
  const { content, stored, md5 } = await receive(ctx, { id, kind: 'raw' }, upload)
  try {
    const header = checkContent(ctx, content, md5(), version)
    const extracted = extractSmall(ctx, content, header, [])
    const finalized = {
      id,
      serial: version.serial,
      md5: version.md5,
      lineage: version.lineage || header.lineage || null,
      size: stored.size,
      rawLocation: stored.location,
      rawSealed: stored.sealed,
      extracted,
      // Whoever has the URL may upload; who asked for it stands with the event of the version's creation.
      audit: auditRow(ctx, {
        organizationId: { workspace: version.workspace_id },
        action: 'upload',
        resource: { type: 'state_version', id },
        meta: { workspace: version.workspace_id, serial: version.serial },
      }),
    }
    const checked = { ...version, id: version.workspace_id }
    if (extracted.processed && (await finalizeStateVersion(ctx.db, checked, { ...finalized, ...snapshot(version) })))
      return
    await transact(ctx, async (ctx) => {
      await store.lockWorkspaceOf(ctx.db, id)
      const fresh = await requireAwaiting(ctx, id, 'raw')
      const checked = { ...fresh, id: fresh.workspace_id }
      if (!(await finalizeStateVersion(ctx.db, checked, { ...finalized, ...snapshot(fresh) })))
        throw new Error(`${id} changed under its lock`)
      if (!extracted.processed) await ctx.jobs.enqueue(ctx.db, EXTRACT, { id })
    })
  } catch (error) {
    await dropRefused(ctx, [stored], error)
    throw error
  }
}

/** Where no lock is left to be released, a snapshot has nothing to wait for. */
function snapshot(version: { intermediate: boolean; locked_by_id: string | null }) {
  return { intermediate: version.intermediate && version.locked_by_id !== null }
}

async function uploadJson(ctx: Ctx, id: string, upload: Upload) {
  await requireAwaiting(ctx, id, 'json')
  const { content, stored } = await receive(ctx, { id, kind: 'json' }, upload)
  try {
    // A client whose content got lost on the way must not use up the one upload.
    checkJsonState(content)
  } catch (error) {
    await dropRefused(ctx, [stored], error)
    throw error
  }
  const taken = await store.addJsonContent(ctx.db, id, stored.location, stored.sealed)
  if (taken) return
  if (stored.sealed === undefined) await ctx.blobs.delete(stored.location)
  throw conflict(`the JSON state of ${id} was uploaded already`)
}

/** The version, while its content may still come. */
async function requireAwaiting(ctx: Ctx, id: string, kind: ContentKind) {
  const version = await store.findUpload(ctx.db, { id })
  if (!version) throw notFound('upload')
  if (kind === 'json' && version.status === 'finalized' && version.awaits_json) return version
  if (version.status !== 'pending' || (kind === 'json' && !version.awaits_json)) {
    throw conflict(
      version.status === 'discarded'
        ? `${id} was superseded by a newer state version before its content was uploaded`
        : `the content of ${id} was uploaded already`,
    )
  }
  // Whoever has taken the lock since may have read the state: a late upload would change it under their hands.
  if (version.locked_by_id !== null && version.locked_by_id !== version.lock_holder_id) {
    throw conflict(
      `the workspace is locked by ${version.locked_by_type} ${version.locked_by_id} since ${id} was created`,
    )
  }
  return version
}

/**
 * Reads an upload to its end: small content ends up sealed for a row, large content goes through to a blob as it comes.
 * It is kept in memory too, to be checked.
 */
async function receive(ctx: Ctx, { id, kind }: { id: string; kind: ContentKind }, { body, declaredBytes }: Upload) {
  const content = new Gathered(declaredBytes)
  // To leave the stream early must not destroy it: the request could no longer be answered.
  const source = body.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  while (content.size <= ROW_BYTES) {
    const next = await source.next()
    if (next.done) {
      const whole = content.whole()
      return { content: whole, stored: sealContent(ctx, id, kind, whole), md5: () => md5Of(whole) }
    }
    content.add(next.value)
  }
  const location = newBlobKey(id, kind)
  const begun = content.whole()
  const { md5, size } = await ctx.blobs.put(
    location,
    (async function* () {
      yield begun
      for await (const piece of source) {
        content.add(piece)
        yield piece
      }
    })(),
    { maxBytes: MAX_CONTENT_BYTES },
  )
  return { content: content.whole(), stored: { location, sealed: undefined, size }, md5: () => md5 }
}

/** What a signed download URL opens: the content as it was stored. Throws `not-found`. */
export async function downloadContent(ctx: Ctx, objectId: string) {
  const object = openObjectId(ctx, objectId)
  if (object?.kind !== 'raw' && object?.kind !== 'json') throw notFound('object')
  const version = await store.findDownload(ctx.db, { id: object.id, kind: object.kind })
  if (!version || version.status !== 'finalized') throw notFound('object')
  const content = await openContent(ctx, version, object.kind)
  if (content === undefined) throw notFound('object')
  return { content, size: object.kind === 'raw' ? (version.size ?? undefined) : undefined }
}
