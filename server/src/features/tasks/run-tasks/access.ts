import type { Ctx } from '../../../app.ts'
import { readAccessContext } from '../../../auth/access-context.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { PLAN_LIMITS } from '../../organizations/organizations/quotas.ts'
import * as store from './store.ts'

export type Task = NonNullable<Awaited<ReturnType<typeof store.findTask>>>

/** A task that was global before a downgrade stays so until it is made local. */
export function mayBeGlobal(task: Pick<Task, 'organization_plan' | 'global_enabled'>) {
  return task.global_enabled || PLAN_LIMITS[task.organization_plan].globalRunTasks
}

/** Throws `not-found` for a task that the actor may not see, `forbidden` without the permission. */
export async function requireTask(ctx: Ctx, id: string, permission: OrganizationPermission): Promise<Task> {
  const task = await store.findTask(ctx.db, ctx.actor, id)
  if (!task) throw notFound('task')
  const access = readAccessContext(ctx.actor, { organizationId: task.organization_id, access: task.access })
  const can = organizationPermissions(access)
  checkSignInPolicy(access)
  if (!can.has('run-tasks:read')) throw notFound('task')
  if (!can.has(permission)) {
    throw forbidden(`this needs the permission ${permission} in the organization ${task.organization_name}`)
  }
  return task
}
