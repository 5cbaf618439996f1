import type { StateVersionResource } from '@groundstate/contract/state-versions'
import type { App } from '../../../app.ts'
import type { AccessContext } from '../../../auth/access-context.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import { API_PREFIX } from '../../../http/http.ts'
import { RawJson } from '../../../http/raw-json.ts'
import type { Workspace } from '../../workspaces/workspaces/access.ts'
import { objectUrl } from './content-rules.ts'
import type { PresentedRow } from './store.ts'

/** The properties of a workspace that determine how its versions are shown. */
export type DisplayContext = { plan: string; repository_id: string | null; access: AccessContext }

export function displayContextOf({ organization_plan: plan, repository_id, access }: Workspace): DisplayContext {
  return { plan, repository_id, access }
}

export type DisplayOptions = {
  /** Whether the workspace has a repository: then a version has the commit of its run's configuration. */
  hasCommit?: boolean
  seesBilling?: boolean
  /** Whether the caller may write states: an upload URL is its own authorisation, so readers must not get it. */
  mayUpload?: boolean
  /** Whether the caller may delete and restore content, if the edition allows it. */
  mayDelete?: boolean
  withoutResources?: boolean
  /** The retention requested with a soft delete. */
  deleteOlderThanDays?: number | undefined
}

export function displayOptions(context: DisplayContext): DisplayOptions {
  return {
    seesBilling: seesBilling(context),
    mayUpload: workspacePermissions(context.access).has('state-versions:write'),
    mayDelete: isOwner(context.access),
    hasCommit: context.repository_id !== null,
  }
}

/** Whether the caller may delete and restore content (INTERFACE §4.9.5). */
export function isOwner({ role }: AccessContext) {
  return role === 'owner' || role === 'system'
}

/** Usage is metered on the standard plan, and shown to members who see all workspaces of the organization (INTERFACE §4.1.1). */
function seesBilling({ plan, access: { role, organizationAccess } }: DisplayContext) {
  const seesAll = organizationAccess.has('manage_workspaces') || organizationAccess.has('read_workspaces')
  return plan === 'standard' && (role === 'owner' || (role === 'member' && seesAll))
}

/** INTERFACE §4.1.1. The engine's version has a neutral name and the one that existing clients read. */
export function stateVersionResource(
  app: Pick<App, 'baseUrl' | 'secrets' | 'now' | 'config'>,
  row: PresentedRow,
  resources: RawJson,
  options: DisplayOptions = {},
): StateVersionResource {
  const { id } = row
  const isReadable = row.status === 'finalized'
  const { mayUpload = false } = options
  const mayUploadJson = mayUpload && row.awaits_json && (row.status === 'pending' || isReadable)
  const url = (kind: Parameters<typeof objectUrl>[1], condition: boolean) =>
    condition ? objectUrl(app, kind, id) : null
  return {
    id,
    type: 'state-versions',
    attributes: {
      'created-at': row.created_at.toISOString(),
      size: row.size ?? 0,
      ...(options.seesBilling && { 'billable-rum-count': row.billable_count ?? 0 }),
      'hosted-state-download-url': url('raw', isReadable),
      'hosted-json-state-download-url': url('json', isReadable && hasJsonState(row)),
      'hosted-state-upload-url': url('raw-upload', mayUpload && row.status === 'pending'),
      'hosted-json-state-upload-url': url('json-upload', mayUploadJson),
      modules: new RawJson(Buffer.from(row.modules ?? '{}')),
      providers: new RawJson(Buffer.from(row.providers ?? '{}')),
      resources,
      'resources-processed': row.resources_processed,
      'resource-count': row.resource_count,
      intermediate: row.intermediate,
      serial: row.serial,
      lineage: row.lineage,
      md5: row.md5,
      'restorable-until': row.status === 'backing_data_soft_deleted' ? (row.purge_at?.toISOString() ?? null) : null,
      'state-version': row.format,
      status: row.status,
      'engine-version': row.engine_version,
      'terraform-version': row.engine_version,
      ...(options.hasCommit && {
        'vcs-commit-sha': row.commit?.sha ?? null,
        'vcs-commit-url': row.commit?.url || null,
      }),
      ...(options.deleteOlderThanDays !== undefined && { 'delete-older-than-n-days': options.deleteOlderThanDays }),
      permissions: { 'can-delete-backing-data': (options.mayDelete ?? false) && app.config.edition !== 'hosted' },
    },
    relationships: {
      run: { data: row.run_id === null ? null : { id: row.run_id, type: 'runs' } },
      'created-by': createdBy(row),
      workspace: { data: { id: row.workspace_id, type: 'workspaces' } },
      outputs: { data: row.output_ids.map((output) => ({ id: output, type: 'state-version-outputs' })) },
      ...(row.rollback_of_id !== null && {
        'rollback-state-version': { data: { id: row.rollback_of_id, type: 'state-versions' } },
      }),
    },
    links: { self: `${API_PREFIX}/state-versions/${id}` },
  }
}

function createdBy(row: PresentedRow): StateVersionResource['relationships']['created-by'] {
  if (row.created_by_user_id === null) return { data: null }
  const path = `${API_PREFIX}/users/${row.created_by_user_id}`
  return { data: { id: row.created_by_user_id, type: 'users' }, links: { self: path, related: path } }
}

/** The JSON state is not offered for engines before 1.3 (INTERFACE §4.1.1); for an unknown version it is. */
function hasJsonState(row: PresentedRow) {
  if (row.json_location === null) return false
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(row.engine_version ?? '') ?? []
  return major === undefined || Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 3)
}
