import type { StateVersionResource } from '@groundstate/contract/state-versions'
import type { WorkspaceResourceResource } from '@groundstate/contract/workspace-resources'
import type { App } from '../../../app.ts'
import { API_PREFIX } from '../../../http/http.ts'
import { RawJson } from '../../../http/raw-json.ts'
import { objectUrl } from './content-urls.ts'
import type { PresentedRow } from './store.ts'
import type { WorkspaceResource } from '../workspace-resources/list.ts'

/** What a version shows beside its own row. */
export type Shown = {
  /** The commit of the run's configuration; absent when the workspace has no repository. */
  commit?: { sha: string | null; url: string | null } | undefined
  /** Whether the caller may see metered usage. */
  seesBilling?: boolean
  /** Whether the caller may write states: an upload URL is its own authorisation, which readers must not get. */
  mayUpload?: boolean
  /** What the caller asked for when it soft-deleted the version. */
  deleteOlderThanDays?: number | undefined
}

/** INTERFACE §4.1.1. Both names of the engine's version are given: the neutral one, and the one that existing clients read. */
export function stateVersionResource(
  app: Pick<App, 'baseUrl' | 'secrets' | 'now'>,
  row: PresentedRow,
  resources: RawJson,
  shown: Shown = {},
): StateVersionResource {
  const { id } = row
  const isReadable = row.status === 'finalized'
  const { mayUpload = false } = shown
  const url = (kind: Parameters<typeof objectUrl>[1], condition: boolean) =>
    condition ? objectUrl(app, kind, id) : null
  return {
    id,
    type: 'state-versions',
    attributes: {
      'created-at': row.created_at.toISOString(),
      size: row.size ?? 0,
      ...(shown.seesBilling && { 'billable-rum-count': row.billable_count ?? 0 }),
      'hosted-state-download-url': url('raw', isReadable),
      'hosted-json-state-download-url': url('json', isReadable && hasJsonState(row)),
      'hosted-state-upload-url': url('raw-upload', mayUpload && row.status === 'pending'),
      'hosted-json-state-upload-url': url(
        'json-upload',
        mayUpload && row.awaits_json && (row.status === 'pending' || isReadable),
      ),
      modules: new RawJson(Buffer.from(row.modules ?? '{}')),
      providers: new RawJson(Buffer.from(row.providers ?? '{}')),
      resources,
      'resources-processed': row.resources_processed,
      intermediate: row.intermediate,
      serial: row.serial,
      'state-version': row.format,
      status: row.status,
      'engine-version': row.engine_version,
      'terraform-version': row.engine_version,
      ...(shown.commit && { 'vcs-commit-sha': shown.commit.sha, 'vcs-commit-url': shown.commit.url }),
      ...(shown.deleteOlderThanDays !== undefined && { 'delete-older-than-n-days': shown.deleteOlderThanDays }),
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

/** JSON state is a format of engine 1.3 and later (INTERFACE §4.1.1); of a state that can't be read, the version is not known. */
function hasJsonState(row: PresentedRow) {
  if (row.json_location === null) return false
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(row.engine_version ?? '') ?? []
  return major === undefined || Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 3)
}

/** One instance of a resource, as the public API lists those of a workspace. */
export function workspaceResourceResource(instance: WorkspaceResource): WorkspaceResourceResource {
  const since = instance.since.toISOString()
  return {
    id: instance.id,
    type: 'resources',
    attributes: {
      address: instance.address,
      name: instance.name,
      'created-at': since,
      'updated-at': since,
      module: instance.module,
      provider: instance.provider,
      'provider-type': instance.type,
      'modified-by-state-version-id': instance.stateVersionId,
      'name-index': instance.nameIndex,
    },
  }
}
