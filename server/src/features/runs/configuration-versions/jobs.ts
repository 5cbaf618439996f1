import type { Ctx } from '../../../app.ts'
import { blobOwner, sweepBlobs } from '../../../blobs/sweep.ts'
import { transact } from '../../../db/db.ts'
import { scheduledJob } from '../../../handlers.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { listDeletingWorkspaces } from '../../states/data-retention/store.ts'
import { deleteArchives } from './service.ts'
import * as store from './store.ts'
import { ARCHIVE_PREFIX, SHARED_PREFIX, abandonedBefore } from './urls.ts'

export const configurationVersionJobs = [
  scheduledJob('configuration-versions.sweep', '27 3 * * *', sweepArchives, { timeLimitMs: 3_600_000 }),
  scheduledJob('configuration-versions.expire', '57 * * * *', expireArchives, { timeLimitMs: 3_600_000 }),
  scheduledJob('configuration-versions.end-uploads', '41 * * * *', endAbandonedUploads),
]

/** Marks pending versions as errored whose upload URL has expired and whose upload must have ended. */
export async function endAbandonedUploads(ctx: Ctx) {
  const now = ctx.now()
  const message = 'the archive was not uploaded within 25 hours: create a new configuration version'
  const ended = await store.failAbandoned(ctx.db, { before: abandonedBefore(now), now, message })
  if (ended > 0) ctx.log.info({ ended }, 'ended configuration versions that were never uploaded')
}

const BATCH = 50

type Archives = readonly { id: string; workspace_id: string }[]

/** Archives unused versions after their retention period. A data retention policy takes precedence over the server's setting. */
export async function expireArchives(ctx: Ctx, signal: AbortSignal) {
  await expireByServer(ctx, signal)
  // Only the self-managed edition has policies.
  if (ctx.config.edition === 'self-managed') await expireByPolicies(ctx, signal)
}

async function expireByServer(ctx: Ctx, signal: AbortSignal) {
  const before = dueBefore(ctx.now(), ctx.config.archiveRetentionDays)
  if (!before) return
  await expireInBatches<store.ArchiveCursor>(ctx, 'archives', {
    signal,
    batch: async (after) => {
      const page = await store.listOldArchives(ctx.db, { before, after, limit: BATCH })
      const due = page.filter((archive) => archive.is_due)
      return { deleted: await archiveAll(ctx, due, before), next: page.length < BATCH ? undefined : page.at(-1) }
    },
  })
}

async function expireByPolicies(ctx: Ctx, signal: AbortSignal) {
  await expireInBatches<string>(ctx, 'archives', {
    signal,
    batch: async (after = '') => {
      const page = await listDeletingWorkspaces(ctx.db, { after, limit: BATCH })
      let deleted = 0
      for (const { id, days } of page) {
        const before = dueBefore(ctx.now(), days)
        if (before && !signal.aborted) deleted += await expireIn(ctx, id, before)
      }
      return { deleted, next: page.length < BATCH ? undefined : page.at(-1)?.id }
    },
  })
}

async function expireIn(ctx: Ctx, workspaceId: string, before: Date) {
  let deleted = 0
  for (;;) {
    const page = await store.listOldArchivesOf(ctx.db, workspaceId, { before, limit: BATCH })
    const archived = await archiveAll(ctx, page, before)
    deleted += archived
    // Fewer than listed: the workspace is locked, and the next job continues.
    if (page.length < BATCH || archived < page.length) return deleted
  }
}

/** Updates rows before it deletes blobs, which a sweep deletes after a crash. Returns the number of archived versions. */
async function archiveAll(ctx: Ctx, archives: Archives, before: Date) {
  if (archives.length === 0) return 0
  const ids = archives.map(({ id }) => id)
  const archived = await transact(ctx, async (ctx) => {
    const workspaces = new Set(archives.map((archive) => archive.workspace_id))
    const workspaceIds = await store.lockFreeWorkspaces(ctx.db, [...workspaces])
    return store.archiveUnused(ctx.db, { ids, workspaceIds, before, now: ctx.now() })
  })
  await deleteArchives(
    ctx,
    archived.map(({ key }) => key),
  )
  return archived.length
}

/** Deletes archives without a configuration version, from interrupted uploads and deleted workspaces. */
export async function sweepArchives(ctx: Ctx, signal: AbortSignal) {
  const ownerOf = (key: string) => blobOwner(key, ARCHIVE_PREFIX)
  const findUsed = async (keys: readonly string[]) => store.findArchiveKeys(ctx.db, keys.map(ownerOf))
  const own = await sweepBlobs(ctx, ARCHIVE_PREFIX, findUsed, signal)
  const findShared = async (keys: readonly string[]) => store.findSharedKeys(ctx.db, keys)
  const swept = own + (await sweepBlobs(ctx, SHARED_PREFIX, findShared, signal))
  if (swept > 0) ctx.log.info({ swept }, 'deleted archives without a configuration version')
  return swept
}
