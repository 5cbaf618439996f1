import type { Readable } from 'node:stream'
import type { Ctx } from '../../../app.ts'
import { ArchiveError, checkArchive } from '../../../archives/archive.ts'
import { recordAudit } from '../../../audit/record.ts'
import { BlobTooLargeError } from '../../../blobs/errors.ts'
import { transact } from '../../../db/db.ts'
import { AppError, invalid, notFound, tooLarge } from '../../../errors.ts'
import { lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { insertUploadedRun } from '../runs/create.ts'
import { ARCHIVE_PREFIX } from './blob-key.ts'
import * as store from './store.ts'
import { readUploadUrl } from './urls.ts'

/** The maximum size of a compressed archive, in bytes. */
export const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024

/**
 * Stores the archive of a configuration version, and creates its run if the version has `auto_queue_runs`. When this
 * returns, the version is `uploaded`, since clients check its status at once. An unsafe archive makes the version
 * `errored` and throws `invalid`. A broken connection does not change the version.
 */
export async function uploadConfiguration(ctx: Ctx, token: string, archive: Readable) {
  const id = readUploadUrl(ctx, token)
  const version = id === undefined ? undefined : await store.findConfigurationVersionRow(ctx.db, id)
  if (!version) throw notFound('upload')
  checkPending(version)

  // Each attempt has its own key: an attempt that was killed may have left a blob.
  const key = `${ARCHIVE_PREFIX}${version.id}/${ctx.newId('upload')}`
  const { size } = await ctx.blobs.put(key, archive, { maxBytes: MAX_ARCHIVE_BYTES, compress: false }).catch(translate)
  try {
    await checkArchive(await ctx.blobs.open(key))
    await accept(ctx, version, { key, size })
  } catch (error) {
    await ctx.blobs.delete(key)
    if (!(error instanceof ArchiveError)) throw error
    await refuse(ctx, version, error)
    throw invalid(error.message)
  }
}

function checkPending(version: store.ConfigurationVersionRow) {
  if (version.status !== 'pending')
    throw invalid(`the configuration version ${version.id} is ${version.status}: it can be uploaded once`)
}

async function accept(ctx: Ctx, version: store.ConfigurationVersionRow, { key, size }: { key: string; size: number }) {
  await transact(ctx, async (ctx) => {
    await lockWorkspaceRow(ctx.db, version.workspace_id)
    const row = await store.updateStatus(ctx.db, version.id, {
      from: 'pending',
      to: 'uploaded',
      stamp: 'uploaded',
      now: ctx.now(),
      changes: { blob_key: key, size },
    })
    if (!row) checkPending({ ...version, status: 'uploaded' })
    await recordAudit(ctx, {
      organizationId: { workspace: version.workspace_id },
      action: 'upload',
      resource: { type: 'configuration_version', id: version.id },
      meta: { workspace: version.workspace_id, size },
    })
    if (!version.speculative && !version.provisional)
      await store.setCurrentConfiguration(ctx.db, { id: version.id, workspaceId: version.workspace_id })
    if (version.auto_queue_runs) await insertUploadedRun(ctx, version)
  })
}

async function refuse(ctx: Ctx, version: store.ConfigurationVersionRow, error: ArchiveError) {
  await store.updateStatus(ctx.db, version.id, {
    from: 'pending',
    to: 'errored',
    stamp: 'errored',
    now: ctx.now(),
    changes: { error: 'invalid_archive', error_message: error.message },
  })
}

function translate(error: unknown): never {
  if (error instanceof BlobTooLargeError)
    throw tooLarge(`the archive is larger than ${MAX_ARCHIVE_BYTES} bytes; a .terraformignore file leaves folders out`)
  if (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_PREMATURE_CLOSE')
  )
    throw new AppError('bad-request', [{ detail: 'the upload was cut off' }], { cause: error })
  throw error
}
