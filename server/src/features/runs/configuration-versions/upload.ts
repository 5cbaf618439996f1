import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Ctx } from '../../../app.ts'
import { ArchiveError, checkArchive } from '../../../archives/archive.ts'
import { recordAudit } from '../../../audit/record.ts'
import { BlobTooLargeError } from '../../../blobs/errors.ts'
import { isDefinitelyRejected, isUnavailable, transact } from '../../../db/db.ts'
import { AppError, invalid, notFound, tooLarge } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { configurationUploaded, requireUpload, requireUploadWorkspace } from './access.ts'
import * as store from './store.ts'
import { ARCHIVE_PREFIX } from './urls.ts'

/** The maximum size of a compressed archive, in bytes. */
export const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024

/**
 * Stores the archive of a configuration version, and creates its run if the version has `auto_queue_runs`; both are done by the
 * creator of the version. When this returns, the version is `uploaded`, since clients check its status at once. An unsafe
 * archive makes the version `errored` and throws `invalid`. A broken connection does not change the version. The same archive
 * may be sent again, by a client that did not see the response.
 */
export async function uploadConfiguration(anyone: Ctx, token: string, archive: Readable) {
  const { ctx, version } = await requireUpload(anyone, token)
  if (version.status !== 'pending') {
    checkRepeated(version, version.status === 'uploaded' ? await md5Of(archive) : null)
    return
  }

  // Each attempt has its own key: an attempt that was killed may have left a blob.
  const key = `${ARCHIVE_PREFIX}${version.id}/${ctx.newId('upload')}`
  const stored = await ctx.blobs.put(key, archive, { maxBytes: MAX_ARCHIVE_BYTES, compress: false }).catch(translate)
  try {
    await checkArchive(await ctx.blobs.open(key))
  } catch (error) {
    await ctx.blobs.delete(key)
    if (!(error instanceof ArchiveError)) throw error
    await refuse(ctx, version, error)
    throw invalid(error.message)
  }
  try {
    if (!(await accept(ctx, version, { ...stored, key }))) await ctx.blobs.delete(key)
  } catch (error) {
    if (isDefinitelyRejected(error)) await ctx.blobs.delete(key)
    else if (isUnavailable(error)) throw outcomeUnknown(error)
    throw error
  }
}

/** Throws `invalid` unless this archive is the one that the version has. */
function checkRepeated(version: Pick<store.ConfigurationVersionRow, 'id' | 'status' | 'md5'>, md5: string | null) {
  if (version.status !== 'uploaded')
    throw invalid(
      `the configuration version ${version.id} is ${version.status}: it can be uploaded while it is pending`,
    )
  if (md5 === null || version.md5 !== md5)
    throw invalid(`the configuration version ${version.id} is uploaded: it can be uploaded once`)
}

async function md5Of(archive: Readable) {
  const hash = createHash('md5')
  for await (const chunk of archive.iterator({ destroyOnReturn: false })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

/** False when the same archive was accepted meanwhile. */
async function accept(
  ctx: Ctx,
  { id, workspace_id: workspaceId }: store.ConfigurationVersionRow,
  stored: StoredArchive,
) {
  return transact(ctx, async (ctx) => {
    await lockWorkspaceRow(ctx.db, workspaceId)
    // An upload may take an hour.
    const workspace = await requireUploadWorkspace(ctx, workspaceId)
    const { key, size, md5 } = stored
    const version = await store.updateStatus(ctx.db, id, {
      from: 'pending',
      to: 'uploaded',
      stamp: 'uploaded',
      now: ctx.now(),
      changes: { blob_key: key, size, md5 },
    })
    if (!version) {
      const other = await store.findConfigurationVersionRow(ctx.db, id)
      if (!other) throw notFound('upload')
      checkRepeated(other, md5)
      return false
    }
    await recordAudit(ctx, {
      organizationId: workspace.organization_id,
      action: 'upload',
      resource: { type: 'configuration_version', id },
      meta: { workspace: workspaceId, size },
      notices: [{ type: 'workspaces', id: workspaceId, workspace: workspaceId }],
    })
    if (!version.speculative && !version.provisional) await store.setCurrentConfiguration(ctx.db, { id, workspaceId })
    if (version.auto_queue_runs) await raise(ctx, configurationUploaded, { workspace, versionId: id })
    return true
  })
}

type StoredArchive = { key: string; size: number; md5: string }

function outcomeUnknown(cause: unknown) {
  const detail = 'the database has not said whether the upload is kept: send the same archive to the same URL again'
  return new AppError('unavailable', [{ detail }], { cause, retryAfterMs: 1000 })
}

async function refuse(ctx: Ctx, version: store.ConfigurationVersionRow, error: ArchiveError) {
  await transact(ctx, async (ctx) =>
    store.updateStatus(ctx.db, version.id, {
      from: 'pending',
      to: 'errored',
      stamp: 'errored',
      now: ctx.now(),
      changes: { error: 'invalid_archive', error_message: error.message },
    }),
  )
}

function translate(error: unknown): never {
  if (error instanceof BlobTooLargeError)
    throw tooLarge(
      `the archive is larger than ${MAX_ARCHIVE_BYTES} bytes; a .terraformignore file leaves directories out`,
    )
  if (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_PREMATURE_CLOSE')
  )
    throw new AppError('bad-request', [{ detail: 'the upload was cut off' }], { cause: error })
  throw error
}
