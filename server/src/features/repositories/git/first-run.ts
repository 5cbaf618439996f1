import { GitError } from '@groundstate/agent/git/errors'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { AppError } from '../../../errors.ts'
import { jobHandler, reaction } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { lockRunWorkspace } from '../../runs/runs/locked-run-store.ts'
import { insertRun } from '../../runs/runs/service.ts'
import { type Workspace, listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { repositoryChosen } from '../../workspaces/workspaces/audit.ts'
import { effectiveExecution } from '../../workspaces/workspaces/settings.ts'
import { recordRepositoryProblem } from '../vcs-events/record.ts'
import { runGit } from './run.ts'
import { findRepository } from './store.ts'

const firstRunJob = jobKind('workspaces.first-run', z.object({ workspaceId: z.string() }))

export const firstRunReactions = [
  reaction(repositoryChosen, async (ctx, data) => ctx.jobs.enqueue(ctx.db, firstRunJob, data)),
]

export const firstRunJobs = [
  jobHandler(firstRunJob, async (ctx, { workspaceId }) => {
    const system = { ...ctx, actor: SYSTEM }
    const [workspace] = await listReadableWorkspaces(system, [workspaceId])
    if (workspace && wantsFirstRun(workspace)) await queueFirstRun(system, workspace)
    else if (workspace) await checkBranch(system, workspace)
  }),
]

/** Without `queue_all_runs`, people start the first run; tags start theirs. */
function wantsFirstRun(workspace: Workspace) {
  const { repository, queue_all_runs: queuesAll, vcs_tags_regex: tagsRegex } = workspace
  return repository !== null && queuesAll && tagsRegex === null && effectiveExecution(workspace).mode !== 'local'
}

/** Asks git about the repository and its branch, which no run does yet. */
async function checkBranch(ctx: Ctx, { repository_id: id, vcs_branch: branch, vcs_tags_regex: tagsRegex }: Workspace) {
  const repository = await findRepository(ctx.db, id)
  if (!repository) return
  try {
    const { branches } = await runGit(ctx, repository, { kind: 'refs' })
    if (branch === null || tagsRegex !== null || branches.some(({ name }) => name === branch)) return
    await recordRepositoryProblem(ctx, repository, {
      message: `${repository.identifier} has no branch ${branch}, which a workspace follows`,
      suggestedAction: 'Push the branch, or have the workspace follow another one',
    })
  } catch (error) {
    // A refused credential is recorded with the connection.
    if (error instanceof HostError || isNotFound(error)) return
    if (!(error instanceof GitError)) throw error
    if (error.kind === 'unauthorised' || error.message === repository.read_error) return
    await recordRepositoryProblem(ctx, repository, {
      message: error.message,
      suggestedAction: 'Check that the repository exists and that the connection may read it',
    })
  }
}

function isNotFound(error: unknown) {
  return error instanceof AppError && error.kind === 'not-found'
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
