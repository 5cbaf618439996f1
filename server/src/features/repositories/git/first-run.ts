import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { AppError } from '../../../errors.ts'
import { jobHandler, reaction } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { lockRunWorkspace } from '../../runs/runs/locked-run-store.ts'
import { insertRun } from '../../runs/runs/service.ts'
import { type Workspace, listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { repositoryChosen } from '../../workspaces/workspaces/audit.ts'
import { effectiveExecution } from '../../workspaces/workspaces/settings.ts'

const firstRunJob = jobKind('workspaces.first-run', z.object({ workspaceId: z.string() }))

export const firstRunReactions = [
  reaction(repositoryChosen, async (ctx, data) => ctx.jobs.enqueue(ctx.db, firstRunJob, data)),
]

export const firstRunJobs = [
  jobHandler(firstRunJob, async (ctx, { workspaceId }) => {
    const system = { ...ctx, actor: SYSTEM }
    const [workspace] = await listReadableWorkspaces(system, [workspaceId])
    if (workspace && wantsFirstRun(workspace)) await queueFirstRun(system, workspace)
  }),
]

/** Without `queue_all_runs`, people start the first run; tags start theirs. */
function wantsFirstRun(workspace: Workspace) {
  const { repository, queue_all_runs: queuesAll, vcs_tags_regex: tagsRegex } = workspace
  return repository !== null && queuesAll && tagsRegex === null && effectiveExecution(workspace).mode !== 'local'
}

/** Queues the first run of a workspace with a repository, for the tip of its branch. */
async function queueFirstRun(ctx: Ctx, workspace: Workspace) {
  const origin = { source: 'tfe-configuration-version', createdByUserId: null } as const
  try {
    await transact(ctx, async (ctx) => {
      const locked = await lockRunWorkspace(ctx.db, workspace.id)
      if (locked?.run_count !== 0) return
      await insertRun(ctx, workspace, { input: { message: 'Queued when the repository was connected' }, origin })
    })
  } catch (error) {
    if (!(error instanceof AppError) || error.kind === 'unavailable') throw error
    ctx.log.warn({ workspace: workspace.id, reason: error.message }, 'no first run could be queued')
  }
}
