import type { Ctx } from '../../../app.ts'
import type { AccessContext } from '../../../auth/access-context.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { findConfigurationVersionRow } from '../configuration-versions/store.ts'
import * as store from './store.ts'

/** A run that the actor may see, with the actor's permissions on its workspace. */
export type Run = Omit<store.FoundRun, 'access'> & { can: ReadonlySet<WorkspacePermission>; access: AccessContext }

/**
 * Loads the run and checks `permission` on its workspace in one query. Throws `not-found` if the actor may not see it, `forbidden` if
 * it lacks the permission. `forTask` admits the token of a task result of this run. `noun` names the part of the run that errors are
 * about.
 */
export async function requireRun(
  ctx: Ctx,
  id: string,
  permission: WorkspacePermission,
  { forTask = false, noun = 'run' }: { forTask?: boolean; noun?: string } = {},
): Promise<Run> {
  const row = await store.findRun(ctx.db, ctx.actor, { id, now: ctx.now() })
  if (!row) throw notFound(noun)
  const run = withAccess(ctx, row)
  if (forTask && ctx.actor.kind === 'task' && ctx.actor.runId === run.id) return run
  checkAccess(run, { noun, permission, workspaceName: run.workspace_name })
  return run
}

function withAccess(ctx: Ctx, row: store.FoundRun): Run {
  return { ...row, ...readAccess(ctx.actor, row) }
}

/** For discarding and canceling: requires permission to apply, or to plan if the run is plan-only. */
export async function requireRunToEnd(ctx: Ctx, id: string): Promise<Run> {
  const run = await requireRun(ctx, id, 'runs:plan')
  return run.plan_only || run.can.has('runs:apply') ? run : requireRun(ctx, id, 'runs:apply')
}

export async function requireRunToForceCancel(ctx: Ctx, id: string): Promise<Run> {
  const run = await requireRun(ctx, id, 'runs:apply')
  if (!run.can.has('force-unlock'))
    throw forbidden(`a forced cancel needs admin access to the workspace ${run.workspace_name}`)
  return run
}

export async function listReadableRuns(ctx: Ctx, ids: readonly string[]): Promise<Run[]> {
  if (ids.length === 0) return []
  const rows = await store.findRuns(ctx.db, ctx.actor, { ids, now: ctx.now() })
  return rows.map((row) => withAccess(ctx, row)).filter(canReadRuns)
}

/** The last run of each of the configuration versions, if the actor may read it. */
export async function listRunsOfConfigurations(ctx: Ctx, versionIds: readonly string[]): Promise<Run[]> {
  const rows = await store.findRunsOfConfigurations(ctx.db, ctx.actor, { versionIds, now: ctx.now() })
  return rows.map((row) => withAccess(ctx, row)).filter(canReadRuns)
}

/** A run of a workspace whose access is known already. */
export function runWithAccess(run: Omit<store.FoundRun, 'access'>, access: AccessContext): Run {
  return { ...run, access, can: workspacePermissions(access) }
}

/** The configuration version of a run. A task result's token may read that of its run. */
export async function requireConfigurationOfRun(ctx: Ctx, runId: string) {
  const run = await requireRun(ctx, runId, 'runs:read', { forTask: true })
  const version = await findConfigurationVersionRow(ctx.db, run.configuration_version_id)
  if (!version) throw notFound('configuration version')
  return version
}
