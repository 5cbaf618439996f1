import type { Ctx } from '../../../app.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { canReadRuns, readAccess } from '../../../auth/workspace-access.ts'
import { AppError, notFound } from '../../../errors.ts'
import { type Workspace, listReadableWorkspaces, requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'

/** A run trigger. Throws `not-found` unless the actor may read the runs of its destination or its source. */
export async function requireRunTrigger(ctx: Ctx, id: string): Promise<store.RunTriggerRow> {
  const { trigger, sides } = await loadTrigger(ctx, id)
  if (!sides.some(canReadRuns)) throw notFound('run trigger')
  return trigger
}

/** A run trigger. Throws `not-found` unless the actor may manage triggers of its destination (INTERFACE §8.2). */
export async function requireRunTriggerToDelete(ctx: Ctx, id: string): Promise<store.RunTriggerRow> {
  const { trigger, destination } = await loadTrigger(ctx, id)
  if (!destination.can.has('run-triggers:manage')) throw notFound('run trigger')
  return trigger
}

async function loadTrigger(ctx: Ctx, id: string) {
  const row = await store.findRunTrigger(ctx.db, ctx.actor, id)
  if (!row) throw notFound('run trigger')
  const { access, source_access: sourceAccess, ...trigger } = row
  const destination = readAccess(ctx.actor, { ...trigger, access })
  const source = readAccess(ctx.actor, { ...trigger, workspace_id: trigger.source_id, access: sourceAccess })
  const sides = [destination, source]
  for (const side of sides) if (side.can.size > 0) checkSignInPolicy(side.access)
  return { trigger, destination, sides }
}

/** A workspace on which the actor has `permission`. Throws `not-found` otherwise (INTERFACE §8.2). */
export async function requireTriggerWorkspace(ctx: Ctx, id: string, permission: WorkspacePermission) {
  const workspace = await requireWorkspace(ctx, id, 'workspace:read')
  if (!workspace.can.has(permission)) throw notFound('workspace')
  return workspace
}

/** The source named in a body. Throws `not-found` unless it is in the same organization and its runs are readable (INTERFACE §8.2). */
export async function requireSource(ctx: Ctx, workspace: Workspace, sourceId: string): Promise<Workspace> {
  const [source] = await listReadableWorkspaces(ctx, [sourceId])
  if (!source?.can.has('runs:read')) throw notFound('workspace', { pointer: SOURCE })
  if (source.organization_id !== workspace.organization_id) {
    const detail = `the workspace ${source.name} is in another organization than ${workspace.name}: a run trigger connects workspaces of one organization`
    throw new AppError('not-found', [{ detail, source: { pointer: SOURCE } }])
  }
  return source
}

export const SOURCE = '/data/relationships/sourceable/data/id'
