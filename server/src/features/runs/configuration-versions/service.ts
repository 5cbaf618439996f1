import type { Readable } from 'node:stream'
import type { CreateConfigurationVersion } from '@groundstate/contract/configuration-versions'
import type { Ctx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { type WorkspacePermission } from '../../../auth/permissions.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { transact } from '../../../db/db.ts'
import { badRequest, conflict, notFound } from '../../../errors.ts'
import { requireRun } from '../runs/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'
import { auditedStatement, auditRow, recordAudit } from '../../../audit/record.ts'
import { lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import type { Page } from '../../../db/page.ts'
import { requireOrganizationById } from '../../organizations/organizations/access.ts'

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

/** Those of the versions that the actor may read. */
export async function listReadableConfigurationVersions(ctx: Ctx, ids: readonly string[]) {
  if (ids.length === 0) return []
  const rows = await store.findConfigurationVersions(ctx.db, ctx.actor, ids)
  return rows.filter((row) => canReadRuns(readAccess(ctx.actor, row)))
}

export async function createConfigurationVersion(
  ctx: Ctx,
  workspaceId: string,
  { input, fromTerraform }: { input: CreateConfigurationVersion; fromTerraform: boolean },
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:plan')
  const now = ctx.now()
  const id = ctx.newId('cv')
  const insert = store.insertConfigurationVersion(ctx.db, {
    id,
    workspace_id: workspace.id,
    status: 'pending',
    status_timestamps: JSON.stringify({ pending: now.toISOString() }),
    source: fromTerraform ? 'terraform' : 'tfe-api',
    auto_queue_runs: input['auto-queue-runs'] ?? true,
    speculative: input.speculative ?? false,
    provisional: input.provisional ?? false,
    created_by_user_id: actorUserId(ctx.actor),
    created_at: now,
  })
  const event = auditRow(ctx, versionAudit(workspace.organization_id, 'create', { id, workspace_id: workspace.id }))
  const [row] = await auditedStatement(ctx.db, event, insert)
  if (!row) throw new Error('an insert returned no row')
  return row
}

function versionAudit(organizationId: string, action: string, version: { id: string; workspace_id: string }) {
  return {
    organizationId,
    action,
    resource: { type: 'configuration_version', id: version.id },
    meta: { workspace: version.workspace_id },
  }
}

export async function listConfigurationVersions(ctx: Ctx, workspaceId: string, page: Page) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:read')
  return store.listConfigurationVersions(ctx.db, { workspaceId: workspace.id, page })
}

/** The archive of a version, for people who may see how it came to be, and for the tasks of a run that is made of it. */
export async function openConfiguration(ctx: Ctx, id: string): Promise<{ content: Readable; size: number | null }> {
  if (ctx.actor.kind === 'task') {
    const version = await requireConfigurationOfRun(ctx, ctx.actor.runId)
    if (version.id !== id) throw notFound('configuration version')
    return openArchive(ctx, version)
  }
  return openArchive(ctx, await requireConfigurationVersion(ctx, id, 'runs:read'))
}

/** The version that a run is made of; the token of a task result may read that of its own run. */
export async function requireConfigurationOfRun(ctx: Ctx, runId: string) {
  const run = await requireRun(ctx, runId, 'runs:read', { forTask: true })
  const version = await store.findConfigurationVersionRow(ctx.db, run.configuration_version_id)
  if (!version) throw notFound('configuration version')
  return version
}

export async function openArchive(
  ctx: Ctx,
  version: Pick<store.ConfigurationVersionRow, 'status' | 'blob_key' | 'size'>,
) {
  if (version.status !== 'uploaded' || version.blob_key === null) throw notFound('configuration archive')
  return { content: await ctx.blobs.open(version.blob_key), size: version.size }
}

/** The archive for a job that has been authorised. */
export async function openJobConfiguration(ctx: Ctx, id: string) {
  const version = await store.findConfigurationVersionRow(ctx.db, id)
  if (!version) throw notFound('configuration version')
  return openArchive(ctx, version)
}

/** Gives the archive of a version up. Throws `conflict` for one that a run needs, or that is the workspace's own. */
export async function archiveConfigurationVersion(ctx: Ctx, id: string) {
  const version = await requireConfigurationVersion(ctx, id, 'runs:apply')
  if (version.status !== 'uploaded')
    throw conflict(`transition not allowed: the configuration version is ${version.status}, it must be uploaded`)
  await transact(ctx, async (ctx) => {
    const workspace = await lockWorkspaceRow(ctx.db, version.workspace_id)
    if (workspace?.current_configuration_version_id === id)
      throw conflict('transition not allowed: the configuration could not be archived because it is current')
    const run = await store.isInUse(ctx.db, id)
    if (run !== undefined) throw conflict(`transition not allowed: the configuration is needed by ${run}`)
    const now = ctx.now()
    const row = await store.updateStatus(ctx.db, id, {
      from: 'uploaded',
      to: 'archived',
      stamp: 'archived',
      now,
      changes: { blob_key: null, size: null },
    })
    if (!row) throw conflict('transition not allowed: the configuration version has just changed')
    await recordAudit(ctx, versionAudit(version.organization_id, 'archive', version))
  })
  if (version.blob_key !== null) await ctx.blobs.delete(version.blob_key)
}

type BackingDataAction = 'soft_delete' | 'restore' | 'permanently_delete'

const BACKING_DATA = {
  soft_delete: { from: 'uploaded', to: 'backing_data_soft_deleted', stamp: 'soft-delete-backing-data' },
  restore: { from: 'backing_data_soft_deleted', to: 'uploaded', stamp: 'restore-backing-data' },
  permanently_delete: {
    from: 'backing_data_soft_deleted',
    to: 'backing_data_permanently_deleted',
    stamp: 'permanently-delete-backing-data',
  },
} as const satisfies Record<BackingDataAction, { from: string; to: string; stamp: string }>

/** Owners of a self-managed server may take an archive away, bring it back, and delete it for good. */
export async function changeBackingData(ctx: Ctx, id: string, action: BackingDataAction) {
  if (ctx.config.edition === 'hosted') throw notFound('resource')
  const version = await requireConfigurationVersion(ctx, id, 'runs:read')
  // Whoever is no owner is told that there is no such thing, as for state versions.
  const organization = await requireOrganizationById(ctx, version.organization_id, 'organization:read')
  if (!organization.can.has('owner')) throw notFound('configuration version')
  const { from, to, stamp } = BACKING_DATA[action]
  const forGood = action === 'permanently_delete'
  const row = await transact(ctx, async (ctx) => {
    const workspace = await lockWorkspaceRow(ctx.db, version.workspace_id)
    if (action === 'soft_delete' && workspace?.current_configuration_version_id === id)
      throw badRequest('transition not allowed: it is the current configuration version of its workspace')
    const run = action === 'soft_delete' ? await store.isInUse(ctx.db, id) : undefined
    if (run !== undefined) throw badRequest(`transition not allowed: the configuration version is needed by ${run}`)
    const changes = forGood ? { blob_key: null, size: null } : {}
    const row = await store.updateStatus(ctx.db, id, { from, to, stamp, now: ctx.now(), changes })
    if (row) await recordAudit(ctx, versionAudit(version.organization_id, `${action}_backing_data`, version))
    return row
  })
  if (!row) throw badRequest(`transition not allowed: the configuration version is ${version.status}, not ${from}`)
  if (forGood && version.blob_key !== null) await ctx.blobs.delete(version.blob_key)
  return row
}
