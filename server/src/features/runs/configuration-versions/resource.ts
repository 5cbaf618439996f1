import type { ConfigurationVersionResource } from '@groundstate/contract/configuration-versions'
import { timestamps } from '../../tasks/task-results/resource.ts'
import type { ConfigurationVersionRow } from './store.ts'

/** `uploadUrl` is only for the response to the creation. */
export function configurationVersionResource(
  version: ConfigurationVersionRow,
  uploadUrl: string | null = null,
): ConfigurationVersionResource {
  const self = `/api/v2/configuration-versions/${version.id}`
  return {
    id: version.id,
    type: 'configuration-versions',
    attributes: {
      'auto-queue-runs': version.auto_queue_runs,
      error: version.error,
      'error-message': version.error_message,
      source: version.source,
      speculative: version.speculative,
      provisional: version.provisional,
      status: version.status,
      'status-timestamps': timestamps(version.status_timestamps as Record<string, string>),
      'created-at': version.created_at,
      'changed-files': [],
      size: version.size,
      'upload-url': uploadUrl,
    },
    relationships: {
      workspace: { data: { id: version.workspace_id, type: 'workspaces' } },
      'ingress-attributes': { data: null, links: { related: `${self}/ingress-attributes` } },
    },
    links: { self, download: `${self}/download` },
  }
}
