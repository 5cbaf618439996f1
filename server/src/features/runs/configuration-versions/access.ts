import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { domainEvent } from '../../../events.ts'
import { findUserActor } from '../../identity/users/access.ts'
import { type Workspace, requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'
import { readUploadUrl, uploadDeadline } from './urls.ts'

/** Loads the version and checks `permission` on its workspace in one query. */
export async function requireConfigurationVersion(ctx: Ctx, id: string, permission: WorkspacePermission) {
  const row = await store.findConfigurationVersion(ctx.db, ctx.actor, id)
  if (!row) throw notFound('configuration version')
  const { access: _, ...version } = row
  const access = readAccess(ctx.actor, row)
  checkAccess(access, { noun: 'configuration version', permission, workspaceName: row.workspace_name })
  return { ...version, can: access.can }
}

export async function listReadableConfigurationVersions(ctx: Ctx, ids: readonly string[]) {
  if (ids.length === 0) return []
  const rows = await store.findConfigurationVersions(ctx.db, ctx.actor, ids)
  return rows.filter((row) => canReadRuns(readAccess(ctx.actor, row)))
}

/** The version, and its creator as the actor, on the organization's share of connections. Throws `not-found` for an invalid URL, `forbidden` for an expired one or a creator who may not plan. */
export async function requireUpload(ctx: Ctx, token: string) {
  const grant = readUploadUrl(ctx, token)
  if ('problem' in grant && grant.problem === 'expired') throw expired()
  const version = 'id' in grant ? await store.findConfigurationVersionRow(ctx.db, grant.id) : undefined
  if (!version) throw notFound('upload')
  if (ctx.now() >= uploadDeadline(version)) throw expired()
  const creatorId = version.created_by_user_id
  const actor = creatorId === null ? undefined : await findUserActor(ctx, creatorId)
  if (!actor)
    throw forbidden(
      `the account that created ${version.id} is deleted or suspended: create a new configuration version`,
    )
  const asCreator: Ctx = { ...ctx, actor }
  const { organization_id: caller } = await requireUploadWorkspace(asCreator, version.workspace_id)
  return { ctx: { ...asCreator, caller }, version }
}

/** The workspace of an upload, if the actor may still plan there. */
export async function requireUploadWorkspace(ctx: Ctx, workspaceId: string) {
  return requireWorkspace(ctx, workspaceId, 'runs:plan')
}

function expired() {
  return forbidden('the upload URL has expired: create a new configuration version, and upload within 25 hours')
}

type VersionKey = { id: string; workspace_id: string }

export function configurationVersionAudit(organizationId: string, action: string, version: VersionKey): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'configuration_version', id: version.id },
    meta: { workspace: version.workspace_id },
    notices: [],
  }
}

/** A run needs a version that is to be fetched from the repository of its workspace, at the tip of its branch. Raised in its transaction. */
export const configurationWanted = domainEvent<{ versionId: string }>('configuration.wanted')

/** The actor, who may plan in the workspace, uploaded a configuration with `auto_queue_runs`. Raised in that transaction. */
export const configurationUploaded = domainEvent<{ workspace: Workspace; versionId: string }>('configuration.uploaded')
