import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { isForeignKeyViolation } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { requireTask } from './access.ts'
import { taskAudit } from './audit.ts'
import * as store from './store.ts'

/** Throws `conflict` while the task is attached to a workspace. Runs that wait for its verdict still take it. */
export async function deleteTask(ctx: Ctx, id: string) {
  const task = await requireTask(ctx, id, 'run-tasks:manage')
  try {
    await audited(ctx, taskAudit(task, 'destroy'), (ctx) => store.deleteTask(ctx.db, id))
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error
    throw conflict(`the task ${task.name} is attached to workspaces: detach it there first`)
  }
}
