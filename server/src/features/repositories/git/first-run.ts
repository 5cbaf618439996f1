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
import { type Attempts, attempt, attemptsSchema } from './attempts.ts'
import { FETCHING } from './fetch-commit.ts'
import { runGit } from './run.ts'
import { type RepositoryRow, findRepository } from './store.ts'

const firstRunJob = jobKind('workspaces.first-run', z.object({ workspaceId: z.string() }))

const checkBranchJob = jobKind(
  'workspaces.check-branch',
  z.object({ workspaceId: z.string(), attempts: attemptsSchema.optional() }),
  FETCHING,
)

export const firstRunReactions = [
  reaction(repositoryChosen, async (ctx, data) => ctx.jobs.enqueue(ctx.db, firstRunJob, data)),
]

export const firstRunJobs = [
  jobHandler(firstRunJob, async (ctx, { workspaceId }) => {
    const system = { ...ctx, actor: SYSTEM }
    const [workspace] = await listReadableWorkspaces(system, [workspaceId])
    if (workspace && wantsFirstRun(workspace)) await queueFirstRun(system, workspace)
    else if (workspace) await ctx.jobs.enqueue(ctx.db, checkBranchJob, { workspaceId })
  }),
  jobHandler(checkBranchJob, async (ctx, { workspaceId, attempts }, signal) => {
    const system = { ...ctx, actor: SYSTEM }
    const [workspace] = await listReadableWorkspaces(system, [workspaceId])
    if (workspace) await checkBranch(system, workspace, { attempts, signal })
  }),
]

/** Without `queue_all_runs`, people start the first run; tags start theirs. */
function wantsFirstRun(workspace: Workspace) {
  const { repository, queue_all_runs: queuesAll, vcs_tags_regex: tagsRegex } = workspace
  return repository !== null && queuesAll && tagsRegex === null && effectiveExecution(workspace).mode !== 'local'
}

type Options = { attempts: Attempts | undefined; signal: AbortSignal }

/** Asks git about the repository and its branch, which no run does yet. */
async function checkBranch(ctx: Ctx, workspace: Workspace, { attempts, signal }: Options) {
  const { id: workspaceId, repository_id: id, vcs_branch: branch, vcs_tags_regex: tagsRegex } = workspace
  const repository = await findRepository(ctx.db, id)
  if (!repository) return
  const outcome = await attempt(ctx, { repository, attempts, signal, isReported: false }, async () =>
    runGit(ctx, repository, { kind: 'refs' }, { signal }).catch((error: unknown) => {
      if (isRecorded(error, repository)) return undefined
      throw error
    }),
  )
  if (outcome.kind === 'retry') {
    const data = { workspaceId, attempts: outcome.attempts }
    await ctx.jobs.enqueue(ctx.db, checkBranchJob, data, { startAfter: outcome.at })
  } else if (outcome.kind === 'failed') {
    await recordRepositoryProblem(ctx, repository, {
      message: outcome.failure,
      suggestedAction: 'Check that the repository exists and that the connection may read it',
    })
  } else if (outcome.result && branch !== null && tagsRegex === null) {
    if (outcome.result.branches.some(({ name }) => name === branch)) return
    await recordRepositoryProblem(ctx, repository, {
      message: `${repository.identifier} has no branch ${branch}, which a workspace follows`,
      suggestedAction: 'Push the branch, or have the workspace follow another one',
    })
  }
}

/** Whether the connection or the repository shows the error already, or has been deleted. */
function isRecorded(error: unknown, { read_error: known }: RepositoryRow) {
  if (error instanceof GitError) return error.kind === 'unauthorised' || error.message === known
  return error instanceof HostError || (error instanceof AppError && error.kind === 'not-found')
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
