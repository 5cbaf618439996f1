import type { Ctx } from '../../../app.ts'
import { blobOwner, sweepBlobs } from '../../../blobs/sweep.ts'
import { deleteDiscardedContents, findNamedLocations } from './content-store.ts'
import { BLOB_PREFIX } from './content.ts'

/**
 * Deletes blobs that no version names: the remains of failed requests, killed processes and deleted workspaces. Returns how
 * many.
 */
export async function sweepOrphans(ctx: Ctx, signal: AbortSignal) {
  const named = async (keys: readonly string[]) =>
    findNamedLocations(
      ctx.db,
      keys.map((key) => blobOwner(key, BLOB_PREFIX)),
    )
  const swept = await sweepBlobs(ctx, BLOB_PREFIX, named, signal)
  await deleteDiscardedContents(ctx.db)
  if (swept > 0) ctx.log.info({ swept }, 'deleted state content that no state version names')
  return swept
}
