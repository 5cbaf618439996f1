import type { TransactionCtx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { reaction } from '../../../handlers.ts'
import { type OrganizationPlan, PLAN_LIMITS } from '../../organizations/organizations/quotas.ts'
import { workspaceCreating } from '../../workspaces/workspaces/audit.ts'
import * as store from './store.ts'

type Planned = { id: string; plan: OrganizationPlan }

/** Throws `invalid` if the plan allows no further run task (INTERFACE §6.2). Locks the organization against concurrent requests. */
export async function checkTaskQuota(ctx: TransactionCtx, { id, plan }: Planned) {
  const limit = PLAN_LIMITS[plan].runTasks
  if (limit === null) return
  await store.lockOrganization(ctx.db, id)
  const count = await store.countTasks(ctx.db, id)
  if (count >= limit)
    throw invalid(`the ${plan} plan allows ${limit} run task, and the organization already has ${count}`)
}

/** As `checkTaskQuota`, for one more workspace with a task. */
export async function checkWorkspaceQuota(ctx: TransactionCtx, { id, plan }: Planned, workspaceId: string) {
  const limit = PLAN_LIMITS[plan].runTaskWorkspaces
  if (limit === null) return
  await store.lockOrganization(ctx.db, id)
  const others = await store.countAttachedWorkspaces(ctx.db, id, workspaceId)
  if (others >= limit)
    throw invalid(`the ${plan} plan allows run tasks in ${limit} workspaces, and ${others} already have one`)
}

/** As `checkTaskQuota`, for a global task that is enabled again. */
export async function checkGlobalQuota(ctx: TransactionCtx, { id, plan }: Planned) {
  const limit = PLAN_LIMITS[plan].runTaskWorkspaces
  if (limit === null) return
  await store.lockOrganization(ctx.db, id)
  const count = await store.countWorkspaces(ctx.db, id)
  if (count > limit) {
    throw invalid(
      `the ${plan} plan allows run tasks in ${limit} workspaces, and the organization has ${count}: attach the task to some of them instead`,
      '/data/attributes/enabled',
    )
  }
}

/** As `checkTaskQuota`, for a new workspace, in which global tasks would run too. */
async function checkNewWorkspaceQuota(ctx: TransactionCtx, { id, plan }: Planned) {
  const limit = PLAN_LIMITS[plan].runTaskWorkspaces
  if (limit === null) return
  await store.lockOrganization(ctx.db, id)
  const task = await store.findGlobalTask(ctx.db, id)
  if (!task || (await store.countWorkspaces(ctx.db, id)) < limit) return
  throw invalid(
    `the ${plan} plan allows run tasks in ${limit} workspaces, and the task ${task.name} is global: attach it to some of them instead`,
  )
}

export const taskReactions = [
  reaction(workspaceCreating, async (ctx, { organization }) => checkNewWorkspaceQuota(ctx, organization)),
]
