import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { blobOwner, deleteBlobs, sweepBlobs } from '../../../blobs/sweep.ts'
import { transact } from '../../../db/db.ts'
import { jobHandler } from '../../../handlers.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { listDeletingWorkspaces } from '../../states/data-retention/store.ts'
import {
  type ArchivePlace,
  archiveUnused,
  listOldArchives,
  listOldArchivesOf,
  lockFreeWorkspaces,
} from './retention-store.ts'
import * as store from './store.ts'
import { ARCHIVE_PREFIX, abandonedBefore } from './urls.ts'

const sweep = jobKind('configuration-versions.sweep', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })
const expiry = jobKind('configuration-versions.expire', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })
const end = jobKind('configuration-versions.end-uploads', z.object({}), { concurrency: 1 })

export const configurationVersionJobs = [
  jobHandler(sweep, async (ctx, _, signal) => void (await sweepArchives(ctx, signal)), { schedule: '27 3 * * *' }),
  jobHandler(expiry, async (ctx, _, signal) => expireArchives(ctx, signal), { schedule: '57 * * * *' }),
  jobHandler(end, async (ctx) => endAbandonedUploads(ctx), { schedule: '41 * * * *' }),
]

const MESSAGE = 'the archive was not uploaded within 25 hours: create a new configuration version'

/** Makes pending versions errored whose upload URL has expired, and whose archive can't be under way any more. */
export async function endAbandonedUploads(ctx: Ctx) {
  const now = ctx.now()
  const ended = await store.failAbandoned(ctx.db, { before: abandonedBefore(now), now, message: MESSAGE })
  if (ended > 0) ctx.log.info({ ended }, 'ended configuration versions that were never uploaded')
}

const BATCH = 50

type Archives = readonly { id: string; workspace_id: string }[]

/**
 * Archives versions that their workspaces no longer need, when their time is over. What a data retention policy says goes before what
 * the server does.
 */
export async function expireArchives(ctx: Ctx, signal: AbortSignal) {
  await expireByServer(ctx, signal)
  // Policies are a part of the self-managed edition.
  if (ctx.config.edition === 'self-managed') await expireByPolicies(ctx, signal)
}

async function expireByServer(ctx: Ctx, signal: AbortSignal) {
  const before = dueBefore(ctx.now(), ctx.config.archiveRetentionDays)
  if (!before) return
  await expireInBatches<ArchivePlace>(ctx, 'archives', {
    signal,
    batch: async (after) => {
      const page = await listOldArchives(ctx.db, { before, after, limit: BATCH })
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
    const page = await listOldArchivesOf(ctx.db, workspaceId, { before, limit: BATCH })
    const archived = await archiveAll(ctx, page, before)
    deleted += archived
    // Fewer than were listed: someone is at work in the workspace, and the next job does the rest.
    if (page.length < BATCH || archived < page.length) return deleted
  }
}

/** The rows first: a blob that a kill leaves behind is swept as one that no row names. Returns how many were archived. */
async function archiveAll(ctx: Ctx, archives: Archives, before: Date) {
  if (archives.length === 0) return 0
  const archived = await transact(ctx, async (ctx) => {
    const workspaceIds = await lockFreeWorkspaces(ctx.db, [...new Set(archives.map((archive) => archive.workspace_id))])
    return archiveUnused(ctx.db, { ids: archives.map(({ id }) => id), workspaceIds, before, now: ctx.now() })
  })
  await deleteBlobs(
    ctx.blobs,
    archived.flatMap(({ key }) => key ?? []),
  )
  return archived.length
}

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
