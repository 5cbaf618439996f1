import type { Readable } from 'node:stream'
import { MAX_STATE_BYTES } from '@groundstate/contract/limits'
import type { Ctx } from '../../../app.ts'
import { announced, auditRow } from '../../../audit/record.ts'
import { BlobTooLargeError } from '../../../blobs/errors.ts'
import { transact } from '../../../db/db.ts'
import { conflict, notFound, tooLarge } from '../../../errors.ts'
import { GrowingBuffer, freeChunk } from '../../../http/bodies.ts'
import { announceVersions, stateVersionAudit } from './access.ts'
import {
  EXAMINED_BYTES,
  type Examined,
  checkContent,
  checkJsonState,
  examineContent,
  openObjectId,
  readHeader,
} from './content-rules.ts'
import { addJsonContent } from './content-store.ts'
import {
  type ContentKind,
  LARGE_BYTES,
  ROW_BYTES,
  type StoredContent,
  deleteRejectedContents,
  createSerialQueue,
  newBlobKey,
  readBlob,
  storeContent,
  reserveMemory,
} from './content.ts'
import { examinedColumns, extractionJob } from './extraction.ts'
import { type CheckedWorkspace, finalizeStateVersion } from './new-version-store.ts'
import * as store from './store.ts'

const checkInTurn = createSerialQueue()

/** The content and its `content-length`. */
export type Upload = { body: Readable; declaredBytes: number | undefined }

/**
 * Stores the content of a pending version, authorised by its upload URL, and finalizes the version. Rejected content leaves the version
 * pending and the URL usable. The JSON state may come before or after the raw one, and does not finalize the version.
 *
 * Throws `not-found` for an expired URL or a wrong signature, `conflict` for a second upload or a discarded version, `invalid` for content
 * that differs from its declaration.
 */
export async function uploadContent(ctx: Ctx, objectId: string, upload: Upload) {
  const object = openObjectId(ctx, objectId)
  try {
    if (object?.kind === 'raw-upload') return await uploadRaw(ctx, object.id, upload)
    if (object?.kind === 'json-upload') return await uploadJson(ctx, object.id, upload)
  } catch (error) {
    if (error instanceof BlobTooLargeError) throw tooLarge(`a state may have at most ${MAX_STATE_BYTES} bytes`)
    throw error
  }
  throw notFound('upload')
}

async function uploadRaw(anyone: Ctx, id: string, upload: Upload) {
  const version = await requireAwaiting(anyone, id, 'raw')
  const ctx: Ctx = { ...anyone, caller: version.organization_id }
  const { stored, checked } = await receive(
    ctx,
    { id, kind: 'raw', md5: version.md5 },
    upload,
    async (content, md5) => {
      // Content that was hashed on arrival is large: the job extracts it.
      const examined: Examined =
        md5 === undefined
          ? await examineContent(ctx, content)
          : { header: await readHeader(ctx, content), md5: await md5 }
      return { header: checkContent(ctx, examined, version), extraction: examined.extraction }
    },
  )
  try {
    const extracted = examinedColumns(ctx, checked)
    // The event of the version's creation has the user: the upload is authorised by the URL.
    const audit = stateVersionAudit(version, 'upload')
    const finalized = {
      id,
      serial: version.serial,
      md5: version.md5,
      lineage: version.lineage || checked.header.lineage || null,
      size: stored.size,
      intermediate: version.intermediate,
      createdAt: version.created_at,
      rawLocation: stored.location,
      rawSealed: stored.sealed,
      extracted,
      audit: auditRow(ctx, audit),
    }
    const finalize = async (ctx: Ctx, workspace: CheckedWorkspace) =>
      announced(ctx, audit, async () => (await finalizeStateVersion(ctx.db, workspace, finalized)) || undefined)
    const workspace = { ...version, id: version.workspace_id }
    if (extracted.processed && (await finalize(ctx, workspace))) return
    await transact(ctx, async (ctx) => {
      await store.lockWorkspaceOf(ctx.db, id)
      const fresh = await requireAwaiting(ctx, id, 'raw')
      const workspace = { ...fresh, id: fresh.workspace_id }
      if (!(await finalize(ctx, workspace))) throw new Error(`${id} changed under its lock`)
      if (!extracted.processed) await ctx.jobs.enqueue(ctx.db, extractionJob, { id })
    })
  } catch (error) {
    await deleteRejectedContents(ctx, [stored], error)
    throw error
  }
}

async function uploadJson(ctx: Ctx, id: string, upload: Upload) {
  const version = await requireAwaiting(ctx, id, 'json')
  // The version stays open for JSON until the upload is complete, so that an interrupted one can be retried.
  const { stored } = await receive(ctx, { id, kind: 'json' }, upload, (content) => checkJsonState(ctx, content))
  const isAdded = await addJsonContent(ctx.db, id, stored.location, stored.sealed)
  if (isAdded) return announceVersions(ctx, [version])
  if (stored.sealed === undefined) await ctx.blobs.delete(stored.location)
  await requireAwaiting(ctx, id, 'json')
  throw conflict(`the JSON state of ${id} was uploaded already`)
}

/** The version; throws `conflict` if its content can no longer be uploaded. */
async function requireAwaiting(ctx: Ctx, id: string, kind: ContentKind) {
  const version = await store.findUpload(ctx.db, { id })
  if (!version) throw notFound('upload')
  if (kind === 'json' && version.status === 'finalized' && version.awaits_json) return version
  if (version.status !== 'pending' || (kind === 'json' && !version.awaits_json)) {
    throw conflict(
      version.status === 'discarded'
        ? `${id} was discarded before its content was uploaded: create a new state version`
        : `the content of ${id} was uploaded already`,
    )
  }
  // Without the lock, the upload might replace a state that another client is already working with.
  if (version.locked_by_id !== version.lock_holder_id) {
    throw conflict(`the lock under which ${id} was created was released before its content was uploaded`)
  }
  return version
}

type Received<T> = { stored: StoredContent; checked: T }
/** Throws for rejected content. `md5` is defined if the content is hashed on arrival. */
type Check<T> = (content: Buffer, md5: Promise<string> | undefined) => Promise<T>

/**
 * Reads an upload to its end and passes it to `check`. Small content of a declared size is held in memory and stored after the check.
 * Larger content is written to a blob on arrival, and deleted if `check` rejects it; unless it fits into memory too, it is read back for
 * the check.
 */
async function receive<T>(
  ctx: Ctx,
  target: { id: string; kind: ContentKind; md5?: string },
  { body, declaredBytes = 0 }: Upload,
  check: Check<T>,
): Promise<Received<T>> {
  using reserved = declaredBytes > 0 ? reserveMemory(declaredBytes) : undefined
  const heldBytes = reserved ? declaredBytes : LARGE_BYTES
  const isShared = declaredBytes === 0 || declaredBytes > ROW_BYTES
  const content = new GrowingBuffer(Math.min(declaredBytes, heldBytes) || undefined, { isShared })
  // Leaving the stream early must not destroy it: the response still has to be sent.
  const source = body.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  while (content.size <= (reserved && declaredBytes <= EXAMINED_BYTES ? declaredBytes : ROW_BYTES)) {
    const next = await source.next()
    if (next.done) {
      const whole = content.whole()
      const checked = await check(whole, undefined)
      return { stored: await storeContent(ctx, target, whole), checked }
    }
    content.add(next.value)
    freeChunk(body, next.value)
  }
  const free = (chunk: Buffer) => freeChunk(body, chunk)
  return await receiveStream(ctx, target, { begun: content, heldBytes, source, free }, check)
}

/** An upload in progress. Up to `heldBytes` of it are held in memory; `free` releases a chunk that was copied there. */
type Arriving = {
  begun: GrowingBuffer
  heldBytes: number
  source: AsyncIterable<Buffer>
  free: (chunk: Buffer) => void
}

/** Size of the chunks in which buffered content is written, in bytes: each write takes several turns of the event loop. */
const WRITE_CHUNK_BYTES = 512 * 1024

async function receiveStream<T>(
  ctx: Ctx,
  { id, kind }: { id: string; kind: ContentKind },
  { begun, heldBytes, source, free }: Arriving,
  check: Check<T>,
): Promise<Received<T>> {
  let content: GrowingBuffer | undefined = begun
  let checking: Promise<T> | undefined
  const hashed = Promise.withResolvers<string>()
  hashed.promise.catch(() => {})
  const location = newBlobKey(id, kind)
  const written = ctx.blobs.put(location, arriving(), { maxBytes: MAX_STATE_BYTES })
  const { md5, size } = await written.catch((error: unknown) => {
    hashed.reject(error)
    throw error
  })
  hashed.resolve(md5)
  const stored = { location, sealed: undefined, size }
  try {
    const readBack = async () => check(await readBlob(ctx, stored), hashed.promise)
    return { stored, checked: await (checking ?? checkInTurn(readBack)) }
  } catch (error) {
    await deleteRejectedContents(ctx, [stored], error)
    throw error
  }

  async function* arriving() {
    let passed = 0
    for await (const chunk of source) {
      if (content && content.size + chunk.length > heldBytes) {
        yield content.from(passed)
        content = undefined
      }
      if (!content) {
        yield chunk
        continue
      }
      content.add(chunk)
      free(chunk)
      if (content.size - passed < WRITE_CHUNK_BYTES) continue
      yield content.from(passed)
      passed = content.size
    }
    if (!content) return
    // The content is complete: it is checked while the last chunks are written.
    checking = check(content.whole(), hashed.promise)
    checking.catch(() => {})
    yield content.from(passed)
  }
}
