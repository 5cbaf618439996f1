import type { CreateConfigurationVersion } from '@groundstate/contract/configuration-versions'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { findReadme } from '../../../archives/readme.ts'
import { auditedStatement, recordAudit, recordAudits } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { deleteBlobs } from '../../../blobs/sweep.ts'
import { type Page, transact } from '../../../db/db.ts'
import { badRequest, conflict, notFound } from '../../../errors.ts'
import { requireOrganizationById } from '../../organizations/organizations/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { configurationVersionAudit, requireConfigurationVersion } from './access.ts'
import * as store from './store.ts'
import { SHARED_PREFIX } from './urls.ts'

type NewVersion = { input: CreateConfigurationVersion; source: store.ConfigurationVersionRow['source'] }

export async function createConfigurationVersion(ctx: Ctx, workspaceId: string, version: NewVersion) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:plan')
  return insertConfigurationVersion(ctx, workspace, { ...version, status: 'pending', ingressAttributesId: null })
}

type InsertedVersion = NewVersion & {
  status: store.ConfigurationVersionRow['status']
  ingressAttributesId: string | null
}

/** Creates a version that the caller has authorised. One that is fetched from a repository has ingress attributes. */
export async function insertConfigurationVersion(ctx: Ctx, workspace: VersionOwner, version: InsertedVersion) {
  const { status_timestamps: times, ...columns } = versionRow(ctx, workspace, version)
  const values = { ...columns, status_timestamps: JSON.stringify(times) }
  const event = configurationVersionAudit(workspace.organization_id, 'create', columns)
  const [row] = await auditedStatement(ctx, event, { change: store.insertConfigurationVersion, values })
  if (!row) throw new Error('an insert returned no row')
  return row
}

/** As `insertConfigurationVersion`, for many workspaces, with the next statement of the transaction. Returns the id in each workspace. */
export async function insertConfigurationVersions(
  ctx: TransactionCtx,
  workspaces: readonly VersionOwner[],
  version: InsertedVersion,
): Promise<ReadonlyMap<string, string>> {
  const rows = workspaces.map((workspace) => versionRow(ctx, workspace, version))
  await store.insertConfigurationVersions(ctx.db, rows)
  const events = workspaces.map(({ organization_id: organizationId }, index) =>
    configurationVersionAudit(organizationId, 'create', rows[index]!),
  )
  await recordAudits(ctx, events)
  return new Map(rows.map(({ id, workspace_id: workspaceId }) => [workspaceId, id]))
}

type VersionOwner = { id: string; organization_id: string }

function versionRow(ctx: Ctx, { id }: VersionOwner, { input, source, status, ingressAttributesId }: InsertedVersion) {
  const now = ctx.now()
  return {
    id: ctx.newId('cv'),
    workspace_id: id,
    status,
    status_timestamps: { [status]: now.toISOString() },
    source,
    auto_queue_runs: input['auto-queue-runs'] ?? true,
    speculative: input.speculative ?? false,
    provisional: input.provisional ?? false,
    ingress_attributes_id: ingressAttributesId,
    created_by_user_id: actorUserId(ctx.actor),
    created_at: now,
  }
}

export async function listConfigurationVersions(ctx: Ctx, workspaceId: string, page: Page) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:read')
  return store.listConfigurationVersions(ctx.db, { workspaceId: workspace.id, page })
}

/** The commit of a version. Throws `not-found` for an upload, which has none. */
export async function requireIngressAttributes(ctx: Ctx, versionId: string) {
  const { ingress_attributes_id: id } = await requireConfigurationVersion(ctx, versionId, 'runs:read')
  const [row] = id === null ? [] : await store.findIngressAttributes(ctx.db, ctx.actor, [id])
  if (!row) throw notFound('ingress attributes')
  return row
}

type Archived = Pick<store.ConfigurationVersionRow, 'status' | 'blob_key' | 'size'>

export async function openArchive(ctx: Ctx, version: Archived) {
  if (version.status !== 'uploaded' || version.blob_key === null) throw notFound('configuration archive')
  const content = await ctx.blobs.open(version.blob_key).catch((error: unknown) => {
    // The blob is lost, for example after an incomplete restore. An agent would retry a 5xx response for ever.
    if (error instanceof BlobNotFoundError) throw notFound('configuration archive')
    throw error
  })
  return { content, size: version.size }
}

/** The archive for a job that the caller has authorised. */
export async function openJobConfiguration(ctx: Ctx, id: string) {
  const version = await store.findConfigurationVersionRow(ctx.db, id)
  if (!version) throw notFound('configuration version')
  return openArchive(ctx, version)
}

/** Deletes the archive of a version. Throws `conflict` if it is current or used by an unfinished run. */
export async function archiveConfigurationVersion(ctx: Ctx, id: string) {
  const version = await requireConfigurationVersion(ctx, id, 'runs:apply')
  if (version.status !== 'uploaded')
    throw conflict(`transition not allowed: the configuration version is ${version.status}; it must be uploaded`)
  await transact(ctx, async (ctx) => {
    const workspace = await lockWorkspaceRow(ctx.db, version.workspace_id)
    if (workspace?.current_configuration_version_id === id)
      throw conflict('transition not allowed: the configuration could not be archived because it is current')
    const run = await store.findRunOf(ctx.db, id)
    if (run !== undefined) throw conflict(`transition not allowed: the configuration is needed by ${run}`)
    const change = { from: 'uploaded', to: 'archived', now: ctx.now(), changes: NO_ARCHIVE } as const
    const row = await store.updateStatus(ctx.db, id, change)
    if (!row) throw conflict('transition not allowed: the configuration version has just changed')
    await recordAudit(ctx, configurationVersionAudit(version.organization_id, 'archive', version))
  })
  await deleteArchives(ctx, [version.blob_key])
}

/** Deletes the archives of versions that no longer name them; the sweep deletes shared ones. */
export async function deleteArchives(ctx: Ctx, keys: readonly (string | null)[]) {
  const own = keys.filter((key) => key !== null).filter((key) => !key.startsWith(SHARED_PREFIX))
  await deleteBlobs(ctx.blobs, own)
}

const NO_ARCHIVE = { blob_key: null, size: null }

const BACKING_DATA = {
  soft_delete: { from: 'uploaded', to: 'backing_data_soft_deleted', stamp: 'soft-delete-backing-data' },
  restore: { from: 'backing_data_soft_deleted', to: 'uploaded', stamp: 'restore-backing-data' },
  permanently_delete: {
    from: 'backing_data_soft_deleted',
    to: 'backing_data_permanently_deleted',
    stamp: 'permanently-delete-backing-data',
  },
} as const

/** Soft-deletes, restores or permanently deletes an archive; for owners, on self-managed servers. */
export async function changeBackingData(ctx: Ctx, id: string, action: keyof typeof BACKING_DATA) {
  if (ctx.config.edition === 'hosted') throw notFound('resource')
  const version = await requireConfigurationVersion(ctx, id, 'runs:read')
  // For others the version does not exist, as for state versions.
  const organization = await requireOrganizationById(ctx, version.organization_id, 'organization:read')
  if (!organization.can.has('owner')) throw notFound('configuration version')
  const { from, to, stamp } = BACKING_DATA[action]
  const isPermanent = action === 'permanently_delete'
  const row = await transact(ctx, async (ctx) => {
    const workspace = await lockWorkspaceRow(ctx.db, version.workspace_id)
    if (action === 'soft_delete' && workspace?.current_configuration_version_id === id)
      throw badRequest('transition not allowed: it is the current configuration version of its workspace')
    const run = action === 'soft_delete' ? await store.findRunOf(ctx.db, id) : undefined
    if (run !== undefined) throw badRequest(`transition not allowed: the configuration version is needed by ${run}`)
    const changes = isPermanent ? NO_ARCHIVE : {}
    const row = await store.updateStatus(ctx.db, id, { from, to, stamp, now: ctx.now(), changes })
    if (row)
      await recordAudit(ctx, configurationVersionAudit(version.organization_id, `${action}_backing_data`, version))
    return row
  })
  if (!row) throw badRequest(`transition not allowed: the configuration version is ${version.status}, not ${from}`)
  if (isPermanent) await deleteArchives(ctx, [version.blob_key])
  return row
}

/** The README of the current configuration, cached after the first read; undefined if there is none. */
export async function readWorkspaceReadme(ctx: Ctx, workspaceId: string) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:read')
  const { current_configuration_version_id: id, working_directory: workingDirectory } = workspace
  const version = id === null ? undefined : await store.findConfigurationVersionRow(ctx.db, id)
  if (version?.status !== 'uploaded') return undefined
  const key = { versionId: version.id, workingDirectory }
  const row = (await store.findReadme(ctx.db, key)) ?? (await shareRead(ctx, version, key))
  return row.path === null ? undefined : { workspaceId: workspace.id, versionId: version.id, row }
}

/** Archives being read: concurrent requests share one read. */
const reads = new Map<string, Promise<store.ReadmeRow>>()

async function shareRead(ctx: Ctx, version: Archived, key: store.ReadmeKey): Promise<store.ReadmeRow> {
  const name = `${version.blob_key}/${key.workingDirectory}`
  const read = reads.get(name) ?? extractReadme(ctx, version, key).finally(() => reads.delete(name))
  reads.set(name, read)
  return read
}

async function extractReadme(ctx: Ctx, version: Archived, key: store.ReadmeKey): Promise<store.ReadmeRow> {
  const { content } = await openArchive(ctx, version)
  const readme = await findReadme(content, key.workingDirectory)
  const row = { path: readme?.path ?? null, markdown: readme?.markdown ?? null, is_cut: readme?.isCut ?? false }
  await store.insertReadme(ctx.db, key, row)
  return row
}
