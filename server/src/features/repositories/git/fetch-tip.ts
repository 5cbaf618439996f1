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
 * Finds the tips of the branches that workspaces follow, and has them fetched for versions that runs wait for: all those of the
 * repository of a version, since hundreds of workspaces may be created at once.
 */
async function fetchTips(ctx: Ctx, versionId: string, { attempts, signal }: Options) {
  const versions = await store.listUnresolved(ctx.db, versionId)
  const [first] = versions
  if (!first) return
  const repository = await store.findRepository(ctx.db, first.repository_id)
  if (!repository) return endFetches(ctx, versions, { message: REPOSITORY_LEFT })
  const byBranch = Map.groupBy(versions, (version) => version.vcs_branch)
  const outcome = await attempt(ctx, { repository, attempts, signal, isReported: false }, async () =>
    readTips(ctx, repository, { branches: [...byBranch.keys()], signal }),
  )
  if (outcome.kind === 'retry') {
    const data = { versionId, attempts: outcome.attempts }
    // The other versions have their own jobs.
    await noteRetry(ctx, { repository, versions: versions.filter(({ id }) => id === versionId) }, outcome)
    return ctx.jobs.enqueue(ctx.db, fetchTipJob, data, { startAfter: outcome.at })
  }
  if (outcome.kind === 'failed')
    return endFetches(ctx, versions, { message: fetchFailure(repository, outcome.failure) })
  for (const [branch, tip] of outcome.result) {
    const following = byBranch.get(branch) ?? []
    if ('problem' in tip) await endFetches(ctx, following, { message: fetchFailure(repository, tip.problem) })
    else await setTip(ctx, { repository, tip, versionIds: following.map(({ id }) => id) })
  }
}

type Tip = { sha: string; ref: string; branch: string; isDefault: boolean; message: string; author: string }

/** The tip of each branch, where null is the default branch, or why there is none. */
async function readTips(
  ctx: Ctx,
  repository: store.RepositoryRow,
  { branches, signal }: { branches: readonly (string | null)[]; signal: AbortSignal },
) {
  const refs = await runGit(ctx, repository, { kind: 'refs' }, { signal })
  const tips = new Map<string | null, Tip | { problem: string }>()
  for (const branch of branches) {
    const name = branch ?? refs.defaultBranch
    const found = refs.branches.find((each) => each.name === name)
    if (name === null || !found)
      tips.set(branch, { problem: name === null ? 'it has no commits' : `it has no branch ${name}` })
    else {
      const commit = { sha: found.sha, ref: `refs/heads/${name}` }
      const { message, author } = await runGit(ctx, repository, { kind: 'commit', commit }, { signal })
      tips.set(branch, {
        ...commit,
        branch: name,
        isDefault: name === refs.defaultBranch,
        message,
        author: author.name,
      })
    }
  }
  return tips
}

type Found = { repository: store.RepositoryRow; tip: Tip; versionIds: readonly string[] }

/** Sets the commit of versions, which share its archive. */
async function setTip(ctx: Ctx, { repository, tip, versionIds }: Found) {
  const row = tipRow(ctx, repository, tip)
  await transact(ctx, async (ctx) => {
    await store.insertIngressAttributes(ctx.db, row)
    await store.recordCommitRuns(ctx.db, versionIds, row.commit_sha)
    // Pushes of the commit that were decided while the tip was unknown.
    for (const repeated of await store.listRepeatedRuns(ctx.db, versionIds, row.commit_sha))
      await cancelForServer(ctx, repeated.id, `${repeated.earlier_id} is of the same commit`)
    // After the locks of workspaces, which precede those of their runs.
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
