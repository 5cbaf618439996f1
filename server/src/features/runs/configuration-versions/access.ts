import type { Ctx } from '../../../app.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { notFound } from '../../../errors.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './store.ts'

type Found = NonNullable<Awaited<ReturnType<typeof store.findConfigurationVersion>>>
export type ConfigurationVersion = Omit<Found, 'facts'> & { can: ReadonlySet<WorkspacePermission> }

/** Loads the version and checks `permission` on its workspace in one query. */
export async function requireConfigurationVersion(
  ctx: Ctx,
  id: string,
  permission: WorkspacePermission,
): Promise<ConfigurationVersion> {
  const row = await store.findConfigurationVersion(ctx.db, ctx.actor, id)
  if (!row) throw notFound('configuration version')
  const { facts: _, ...version } = row
  const access = readAccess(ctx.actor, row)
  checkAccess(access, { noun: 'configuration version', permission, workspaceName: row.workspace_name })
  return { ...version, can: access.can }
}

/** The versions with these ids that the actor may read. */
export async function listReadableConfigurationVersions(ctx: Ctx, ids: readonly string[]) {
  if (ids.length === 0) return []
  const rows = await store.findConfigurationVersions(ctx.db, ctx.actor, ids)
  return rows.filter((row) => canReadRuns(readAccess(ctx.actor, row)))
}

/** The configuration version of a run. The token of a task result may read the version of its own run. */
export async function requireConfigurationOfRun(ctx: Ctx, runId: string) {
  const run = await requireRun(ctx, runId, 'runs:read', { forTask: true })
  const version = await store.findConfigurationVersionRow(ctx.db, run.configuration_version_id)
  if (!version) throw notFound('configuration version')
  return version
}
