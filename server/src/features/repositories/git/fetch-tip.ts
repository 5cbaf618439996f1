import { GitError } from '@groundstate/agent/git/errors'
import type { GitResult } from '@groundstate/contract/git-operations'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { jobHandler, reaction } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { commitPage } from '../../../vcs-hosts/list.ts'
import { configurationWanted } from '../../runs/configuration-versions/access.ts'
import { cancelForServer } from '../../runs/runs/actions.ts'
import { endFetches } from '../../runs/runs/fetched.ts'
import { lockRunWorkspaces } from '../../runs/runs/locked-run-store.ts'
import { type Attempts, attempt, attemptsSchema } from './attempts.ts'
import { FETCHING, REPOSITORY_LEFT, fetchCommitLater, fetchFailure, noteRetry } from './fetch-commit.ts'
import { runGit } from './run.ts'
import * as store from './store.ts'

const fetchTipJob = jobKind(
  'configurations.fetch-tip',
  z.object({ versionId: z.string(), attempts: attemptsSchema.optional() }),
  FETCHING,
)

export const fetchTipReactions = [
  reaction(configurationWanted, async (ctx, data) => ctx.jobs.enqueue(ctx.db, fetchTipJob, data)),
]

export const fetchTipJobs = [
  jobHandler(fetchTipJob, async (ctx, { versionId, attempts }, signal) =>
    fetchTips({ ...ctx, actor: SYSTEM }, versionId, { attempts, signal }),
  ),
]

type Options = { attempts: Attempts | undefined; signal: AbortSignal }

/**
 * Finds the tips of the branches that workspaces follow, and has them fetched for versions that runs wait for: for all those of the
 * repository of a version, since hundreds of workspaces may be created at once.
 */
async function fetchTips(ctx: Ctx, versionId: string, { attempts, signal }: Options) {
  const version = await store.findUnresolved(ctx.db, versionId)
  if (!version) return
  const repository = await store.findRepository(ctx.db, version.repository_id)
  if (!repository) return endFetches(ctx, [version], { message: REPOSITORY_LEFT })
  const outcome = await attempt(ctx, { repository, attempts, signal, isReported: false }, async () =>
    setTips(ctx, repository, signal),
  )
  if (outcome.kind === 'retry') {
    const data = { versionId, attempts: outcome.attempts }
    await noteRetry(ctx, { repository, versions: [version] }, outcome)
    return ctx.jobs.enqueue(ctx.db, fetchTipJob, data, { startAfter: outcome.at })
  }
  if (outcome.kind === 'done') return
  const failed = outcome.isShared ? await store.listUnresolved(ctx.db, repository.id) : [version]
  await endFetches(ctx, failed, { message: fetchFailure(repository, outcome.failure) })
}

/** Sets the commits of versions whose commit is not known, or ends them if their branch has none. */
async function setTips(ctx: Ctx, repository: store.RepositoryRow, signal: AbortSignal) {
  // Before git is asked: a workspace that is created after a push of a commit must not miss it.
  const versions = await store.listUnresolved(ctx.db, repository.id)
  const refs = await runGit(ctx, repository, { kind: 'refs' }, { signal })
  for (const [branch, following] of Map.groupBy(versions, (version) => version.vcs_branch)) {
    const tip = await readTip(ctx, repository, { branch, refs, signal })
    if ('problem' in tip) await endFetches(ctx, following, { message: fetchFailure(repository, tip.problem) })
    else await setTip(ctx, { repository, tip, versions: following })
  }
}

type Tip = { sha: string; ref: string; branch: string; isDefault: boolean; message: string; author: string }
type Branch = { branch: string | null; refs: GitResult<'refs'>; signal: AbortSignal }

/** The tip of a branch, null for the default one, or why it has none. */
async function readTip(
  ctx: Ctx,
  repository: store.RepositoryRow,
  { branch, refs: { defaultBranch, branches }, signal }: Branch,
): Promise<Tip | { problem: string }> {
  const name = branch ?? defaultBranch
  if (name === null) return { problem: 'it has no commits' }
  const found = branches.find((each) => each.name === name)
  if (!found) return { problem: `it has no branch ${name}` }
  const commit = { sha: found.sha, ref: `refs/heads/${name}` }
  try {
    const { message, author } = await runGit(ctx, repository, { kind: 'commit', commit }, { signal })
    return { ...commit, branch: name, isDefault: name === defaultBranch, message, author: author.name }
  } catch (error) {
    // Other branches would share these failures.
    if (!(error instanceof GitError) || error.mayPass || error.kind === 'unauthorised') throw error
    return { problem: error.message }
  }
}

type Found = { repository: store.RepositoryRow; tip: Tip; versions: readonly store.UnresolvedVersion[] }

/** Sets the commit of versions, which share its archive, unless another server has set one. */
async function setTip(ctx: Ctx, { repository, tip, versions }: Found) {
  const row = tipRow(ctx, repository, tip)
  await transact(ctx, async (ctx) => {
    await lockRunWorkspaces(
      ctx.db,
      versions.map((version) => version.workspace_id),
    )
    const versionIds = await store.listStillUnresolved(
      ctx.db,
      versions.map(({ id }) => id),
    )
    if (versionIds.length === 0) return
    await store.insertIngressAttributes(ctx.db, row)
    await store.recordCommitRuns(ctx.db, versionIds, row.commit_sha)
    // Pushes of the commit that were decided while the tip was unknown.
    for (const repeated of await store.listRepeatedRuns(ctx.db, versionIds, row.commit_sha))
      await cancelForServer(ctx, repeated.id, `${repeated.earlier_id} is of the same commit`)
    await store.setIngress(ctx.db, versionIds, row.id)
    await fetchCommitLater(ctx, row.id)
  })
}

function tipRow(ctx: Ctx, repository: store.RepositoryRow, tip: Tip) {
  return {
    id: ctx.newId('ia'),
    repository_id: repository.id,
    identifier: repository.identifier,
    branch: tip.branch,
    clone_url: repository.clone_url,
    commit_sha: tip.sha,
    commit_ref: tip.ref,
    commit_message: tip.message.slice(0, store.MAX_MESSAGE),
    commit_url: commitPage(repository, tip.sha),
    compare_url: '',
    on_default_branch: tip.isDefault,
    sender_username: tip.author,
    sender_avatar_url: '',
    sender_html_url: '',
    created_at: ctx.now(),
  }
}
