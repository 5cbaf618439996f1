import type { TransactionCtx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import * as store from './store.ts'

/** What the free plan gives (INTERFACE §6.2). */
const FREE_TASKS = 1
const FREE_WORKSPACES = 10

type Planned = { id: string; plan: 'free' | 'standard' | 'unlimited' }

/**
 * Throws `invalid` when the plan allows no further task. Locks the organization, so that only one of two concurrent
 * requests passes.
 */
export async function checkTaskQuota(ctx: TransactionCtx, organization: Planned) {
  if (organization.plan !== 'free') return
  await store.lockOrganization(ctx.db, organization.id)
  if ((await store.countTasks(ctx.db, organization.id)) >= FREE_TASKS) {
    throw invalid(`the free plan has ${FREE_TASKS} run task, and the organization has it already`)
  }
}

/** As `checkTaskQuota`, for one more workspace with a task. */
export async function checkWorkspaceQuota(ctx: TransactionCtx, organization: Planned, workspaceId: string) {
  if (organization.plan !== 'free') return
  await store.lockOrganization(ctx.db, organization.id)
  const others = await store.countAttachedWorkspaces(ctx.db, organization.id, workspaceId)
  if (others >= FREE_WORKSPACES) {
    throw invalid(`the free plan has run tasks in ${FREE_WORKSPACES} workspaces, and ${others} have one already`)
  }
}

/** As `checkTaskQuota`, for a task that becomes global; `pointer` names the attribute that makes it so. */
export async function checkGlobalQuota(ctx: TransactionCtx, organization: Planned, pointer: string) {
  if (organization.plan !== 'free') return
  await store.lockOrganization(ctx.db, organization.id)
  const count = await store.countWorkspaces(ctx.db, organization.id)
  if (count > FREE_WORKSPACES) {
    throw invalid(
      `the free plan has run tasks in ${FREE_WORKSPACES} workspaces, and the organization has ${count}: attach the task to some of them`,
      pointer,
    )
  }
}

/** As `checkTaskQuota`, for one more workspace: a global task would run in it too. */
export async function checkNewWorkspaceQuota(ctx: TransactionCtx, organization: Planned) {
  if (organization.plan !== 'free') return
  await store.lockOrganization(ctx.db, organization.id)
  const task = await store.findGlobalTask(ctx.db, organization.id)
  if (!task || (await store.countWorkspaces(ctx.db, organization.id)) < FREE_WORKSPACES) return
  throw invalid(
    `the free plan has run tasks in ${FREE_WORKSPACES} workspaces, and the task ${task.name} is one for every workspace: attach it to some of them instead`,
  )
}
