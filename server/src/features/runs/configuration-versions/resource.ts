import type {
  ConfigurationVersionResource,
  IngressAttributesResource,
} from '@groundstate/contract/configuration-versions'
import { timestamps } from '../../tasks/task-results/resource.ts'
import type { ConfigurationVersionRow, IngressRow } from './store.ts'

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
      'ingress-attributes': {
        data:
          version.ingress_attributes_id === null
            ? null
            : { id: version.ingress_attributes_id, type: 'ingress-attributes' },
        links: { related: `${self}/ingress-attributes` },
      },
    },
    links: { self, download: `${self}/download` },
  }
}

export function ingressAttributesResource(row: IngressRow): IngressAttributesResource {
  return {
    id: row.id,
    type: 'ingress-attributes',
    attributes: {
      branch: row.branch,
      'clone-url': row.clone_url,
      'commit-message': row.commit_message,
      'commit-sha': row.commit_sha,
      'commit-url': row.commit_url,
      'compare-url': row.compare_url,
      identifier: row.identifier,
      'is-pull-request': row.pull_request_number !== null,
      'on-default-branch': row.on_default_branch,
      'pull-request-number': row.pull_request_number,
      'pull-request-url': row.pull_request_url,
      'pull-request-title': row.pull_request_title,
      'pull-request-body': row.pull_request_body,
      tag: row.tag,
      'sender-username': row.sender_username,
      'sender-avatar-url': row.sender_avatar_url,
      'sender-html-url': row.sender_html_url,
    },
    relationships: { 'created-by': { data: null } },
    links: { self: `/api/v2/ingress-attributes/${row.id}` },
  }
}
