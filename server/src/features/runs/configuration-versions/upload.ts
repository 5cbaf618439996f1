import type { Readable } from 'node:stream'
import { ArchiveError } from '@groundstate/contract/archive'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { hashOf, putArchive } from '../../../blobs/archive.ts'
import { isDefinitelyRejected, isUnavailable, transact } from '../../../db/db.ts'
import { AppError, invalid, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { configurationUploaded, requireUpload, requireUploadWorkspace } from './access.ts'
import * as store from './store.ts'
import { ARCHIVE_PREFIX } from './urls.ts'

/**
 * Stores the archive of a configuration version as its creator, and creates a run if the version has `auto_queue_runs`. The version is
 * `uploaded` on return, since clients check its status immediately. An unsafe archive makes the version `errored` and throws `invalid`;
 * an interrupted upload does not change it. A client that did not get the response may send the same archive again.
 */
export async function uploadConfiguration(anyone: Ctx, token: string, archive: Readable) {
  const { ctx, version } = await requireUpload(anyone, token)
  if (version.status !== 'pending') {
    checkRepeated(version, version.status === 'uploaded' ? await hashOf('md5', archive) : null)
    return
  }

  // Each attempt has its own key: an earlier attempt may have crashed and left a blob.
  const key = `${ARCHIVE_PREFIX}${version.id}/${ctx.newId('upload')}`
  const stored = await putArchive(ctx.blobs, key, archive).catch(async (error: unknown) => {
    if (!(error instanceof ArchiveError)) throw error
    await transact(ctx, async (ctx) =>
      store.updateStatus(ctx.db, version.id, {
        from: 'pending',
        to: 'errored',
        now: ctx.now(),
        changes: { error: 'invalid_archive', error_message: error.message },
      }),
    )
    throw invalid(error.message)
  })
  try {
    if (!(await accept(ctx, version, stored))) await ctx.blobs.delete(key)
  } catch (error) {
    if (isDefinitelyRejected(error)) await ctx.blobs.delete(key)
    else if (isUnavailable(error)) throw outcomeUnknown(error)
    throw error
  }
}

/** Throws `invalid` unless the version has this archive already. */
function checkRepeated(version: store.ConfigurationVersionRow, md5: string | null) {
  if (version.status !== 'uploaded')
    throw invalid(
      `the configuration version ${version.id} is ${version.status}: it can be uploaded while it is pending`,
    )
  if (md5 === null || version.md5 !== md5)
    throw invalid(`the configuration version ${version.id} is uploaded: it can be uploaded once`)
}

type StoredArchive = { key: string; size: number; md5: string }

/** False if a concurrent upload of the same archive was accepted. */
async function accept(ctx: Ctx, version: store.ConfigurationVersionRow, { key, size, md5 }: StoredArchive) {
  const { id, workspace_id: workspaceId } = version
  return transact(ctx, async (ctx) => {
    await lockWorkspaceRow(ctx.db, workspaceId)
    // Permissions may have changed during the upload, which may take an hour.
    const workspace = await requireUploadWorkspace(ctx, workspaceId)
    const change = { from: 'pending', to: 'uploaded', now: ctx.now(), changes: { blob_key: key, size, md5 } } as const
    if (!(await store.updateStatus(ctx.db, id, change))) {
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

function outcomeUnknown(cause: unknown) {
  const detail = 'the database has not confirmed the upload: send the same archive to the same URL again'
  return new AppError('unavailable', [{ detail }], { cause, retryAfterMs: 1000 })
}
