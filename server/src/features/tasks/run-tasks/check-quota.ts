import type { TransactionCtx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { type OrganizationPlan, PLAN_LIMITS } from '../../organizations/organizations/plan-limits.ts'
import * as store from './store.ts'

type Planned = { id: string; plan: OrganizationPlan }

/**
 * Throws `invalid` when the plan allows no further task (INTERFACE §6.2). Locks the organization, so that only one of two
 * concurrent requests passes.
 */
export async function checkTaskQuota(ctx: TransactionCtx, { id, plan }: Planned) {
  const limit = PLAN_LIMITS[plan].runTasks
  if (limit === null) return
  await store.lockOrganization(ctx.db, id)
  const count = await store.countTasks(ctx.db, id)
  if (count >= limit) throw invalid(`the ${plan} plan has ${limit} run task, and the organization has ${count} already`)
}

/** As `checkTaskQuota`, for one more workspace with a task. */
export async function checkWorkspaceQuota(ctx: TransactionCtx, { id, plan }: Planned, workspaceId: string) {
  const limit = PLAN_LIMITS[plan].runTaskWorkspaces
  if (limit === null) return
  await store.lockOrganization(ctx.db, id)
  const others = await store.countAttachedWorkspaces(ctx.db, id, workspaceId)
  if (others >= limit)
    throw invalid(`the ${plan} plan has run tasks in ${limit} workspaces, and ${others} have one already`)
}

/** As `checkTaskQuota`, for a task that becomes global; `pointer` names the attribute that makes it so. */
export async function checkGlobalQuota(ctx: TransactionCtx, { id, plan }: Planned, pointer: string) {
  const limit = PLAN_LIMITS[plan].runTaskWorkspaces
  if (limit === null) return
  await store.lockOrganization(ctx.db, id)
  const count = await store.countWorkspaces(ctx.db, id)
  if (count > limit) {
    throw invalid(
      `the ${plan} plan has run tasks in ${limit} workspaces, and the organization has ${count}: attach the task to some of them`,
      pointer,
    )
  }
}

/** As `checkTaskQuota`, for one more workspace: a global task would run in it too. */
export async function checkNewWorkspaceQuota(ctx: TransactionCtx, { id, plan }: Planned) {
  const limit = PLAN_LIMITS[plan].runTaskWorkspaces
  if (limit === null) return
  await store.lockOrganization(ctx.db, id)
  const task = await store.findGlobalTask(ctx.db, id)
  if (!task || (await store.countWorkspaces(ctx.db, id)) < limit) return
  throw invalid(
    `the ${plan} plan has run tasks in ${limit} workspaces, and the task ${task.name} is one for every workspace: attach it to some of them instead`,
  )
}
