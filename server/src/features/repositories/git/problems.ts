import type { GitResult } from '@groundstate/contract/git-operations'
import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import * as store from './store.ts'

type Repository = { id: string; organization_id: string }

/** Shows why git cannot read a repository, with the repository and its workspaces; null if it can. */
export async function recordReadError(ctx: Ctx, repository: Repository, message: string | null) {
  await transact(ctx, async (ctx) => {
    if (await store.setReadError(ctx.db, repository.id, message)) await announceRepository(ctx, repository)
  })
}

/** Shows which workspaces follow a branch that the repository does not have. */
export async function recordBranches(
  ctx: Ctx,
  repository: Repository,
  { branches, defaultBranch }: Pick<GitResult<'refs'>, 'branches' | 'defaultBranch'>,
) {
  const names = branches.map(({ name }) => name)
  // The empty name is that of the default branch.
  if (defaultBranch !== null && names.includes(defaultBranch)) names.push('')
  await transact(ctx, async (ctx) => {
    if (await store.setMissingBranches(ctx.db, repository.id, names)) await announceRepository(ctx, repository)
  })
}

/** Announces the workspaces of a repository, which show its problems. */
export async function announceRepository(ctx: Ctx, { id, organization_id: organization }: Repository) {
  const workspaces = await store.listWorkspaceIds(ctx.db, id)
  announce(ctx, ...workspaces.map((each) => ({ organization, type: 'workspaces' as const, id: each, workspace: each })))
}
