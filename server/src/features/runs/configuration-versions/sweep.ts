import type { Ctx } from '../../../app.ts'
import { blobOwner, sweepBlobs } from '../../../blobs/sweep.ts'
import { ARCHIVE_PREFIX } from './blob-key.ts'
import * as store from './store.ts'

/** Deletes archives without a configuration version: from broken uploads and deleted workspaces. */
export async function sweepArchives(ctx: Ctx, signal: AbortSignal) {
  const named = async (keys: readonly string[]) =>
    store.findNamedArchives(
      ctx.db,
      keys.map((key) => blobOwner(key, ARCHIVE_PREFIX)),
    )
  const swept = await sweepBlobs(ctx, ARCHIVE_PREFIX, named, signal)
  if (swept > 0) ctx.log.info({ swept }, 'deleted archives that no configuration version names')
  return swept
}
