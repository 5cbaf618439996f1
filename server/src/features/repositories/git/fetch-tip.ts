import { GitError } from '@groundstate/agent/git/errors'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { jobHandler, reaction } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { commitPage } from '../../../vcs-hosts/list.ts'
import { configurationWanted } from '../../runs/configuration-versions/access.ts'
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
    fetchTip({ ...ctx, actor: SYSTEM }, versionId, { attempts, signal }),
  ),
]

type Options = { attempts: Attempts | undefined; signal: AbortSignal }

/** Finds the tip of the branch that a workspace follows, and has it fetched for a version that a run waits for. */
async function fetchTip(ctx: Ctx, versionId: string, { attempts, signal }: Options) {
  const version = await store.findUnresolved(ctx.db, versionId)
  if (!version) return
  const repository = await store.findRepository(ctx.db, version.repository_id)
  if (!repository) return endFetches(ctx, [version], { message: REPOSITORY_LEFT })
  const outcome = await attempt(ctx, { repository, attempts, signal, isReported: false }, async () =>
    readTip(ctx, repository, { branch: version.vcs_branch, signal }),
  )
  if (outcome.kind === 'retry') {
    const data = { versionId, attempts: outcome.attempts }
    await noteRetry(ctx, { repository, versions: [version] }, outcome)
    return ctx.jobs.enqueue(ctx.db, fetchTipJob, data, { startAfter: outcome.at })
  }
  if (outcome.kind === 'failed')
    return endFetches(ctx, [version], { message: fetchFailure(repository, outcome.failure) })
  const row = tipRow(ctx, { versionId, repository, tip: outcome.result })
  await transact(ctx, async (ctx) => {
    await store.insertIngressAttributes(ctx.db, row)
    await store.setIngress(ctx.db, versionId, row.id)
    await store.recordCommitRun(ctx.db, versionId, row.commit_sha)
    await fetchCommitLater(ctx, row.id)
  })
}

type Tip = Awaited<ReturnType<typeof readTip>>

async function readTip(
  ctx: Ctx,
  repository: store.RepositoryRow,
  { branch, signal }: { branch: string | null; signal: AbortSignal },
) {
  const { defaultBranch, branches } = await runGit(ctx, repository, { kind: 'refs' }, { signal })
  const name = branch ?? defaultBranch
  if (name === null) throw new GitError('not-found', 'it has no commits')
  const tip = branches.find((each) => each.name === name)
  if (!tip) throw new GitError('not-found', `it has no branch ${name}`)
  const commit = { sha: tip.sha, ref: `refs/heads/${name}` }
  const { message, author } = await runGit(ctx, repository, { kind: 'commit', commit }, { signal })
  return { ...commit, branch: name, isDefault: name === defaultBranch, message, author: author.name }
}

function tipRow(
  ctx: Ctx,
  { versionId, repository, tip }: { versionId: string; repository: store.RepositoryRow; tip: Tip },
) {
  return {
    id: versionId.replace(/^[a-z]+-/, 'ia-'),
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
