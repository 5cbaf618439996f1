import type { Ctx } from '../../../app.ts'
import { deleteBlobs } from '../../../blobs/sweep.ts'
import { transact } from '../../../db/db.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { listDeletingWorkspaces } from '../../states/data-retention/store.ts'
import {
  type ArchivePlace,
  archiveUnused,
  listOldArchives,
  listOldArchivesOf,
  lockFreeWorkspaces,
} from './retention-store.ts'

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
    // Fewer than were listed: somebody is at work in the workspace, and the next job does the rest.
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
