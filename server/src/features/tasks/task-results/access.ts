import type { Ctx } from '../../../app.ts'
import type { TaskActor } from '../../../auth/actor.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { notFound, unauthorized } from '../../../errors.ts'
import * as outcomesStore from './outcomes-store.ts'
import * as store from './store.ts'

export type TaskResult = Omit<NonNullable<Awaited<ReturnType<typeof store.findTaskResult>>>, 'access'>

/** Throws `not-found` for a result whose run the actor may not read, `forbidden` without the permission. */
export async function requireTaskResult(ctx: Ctx, id: string, permission: WorkspacePermission): Promise<TaskResult> {
  const row = await store.findTaskResult(ctx.db, ctx.actor, id)
  if (!row) throw notFound('task result')
  const { access: _, ...result } = row
  checkAccess(readAccess(ctx.actor, row), { noun: 'task result', permission, workspaceName: row.workspace_name })
  return result
}

export async function listReadableTaskResults(ctx: Ctx, ids: readonly string[]): Promise<TaskResult[]> {
  if (ids.length === 0) return []
  const rows = await store.findTaskResults(ctx.db, ctx.actor, ids)
  return rows.filter((row) => canReadRuns(readAccess(ctx.actor, row)))
}

/** Throws `not-found` for an outcome of a run that the actor may not read. */
export async function requireOutcome(ctx: Ctx, id: string): Promise<outcomesStore.TaskOutcomeRow> {
  const row = await outcomesStore.findOutcome(ctx.db, ctx.actor, id)
  if (!row) throw notFound('task result outcome')
  const { access: _, ...outcome } = row
  const noun = 'task result outcome'
  checkAccess(readAccess(ctx.actor, row), { noun, permission: 'runs:read', workspaceName: row.workspace_name })
  return outcome
}

/** Throws `unauthorized` unless the caller has the token of this result, which is deleted when the result ends. */
export function requireReceiver({ actor }: Pick<Ctx, 'actor'>, resultId: string): TaskActor {
  if (actor.kind === 'task' && actor.taskResultId === resultId) return actor
  throw unauthorized('a callback needs the access_token of its request')
}
