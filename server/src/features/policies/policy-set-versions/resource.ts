import type { PolicySetVersionResource } from '@groundstate/contract/policy-sets'
import type { VersionRow } from './store.ts'

/** `upload` is the URL for the archive, for those who may send it. */
export function policySetVersionResource(version: VersionRow, upload?: string): PolicySetVersionResource {
  const times = Object.entries((version.status_timestamps ?? {}) as Record<string, string>)
  return {
    id: version.id,
    type: 'policy-set-versions',
    attributes: {
      source: version.source,
      status: version.status,
      'status-timestamps': Object.fromEntries(times.map(([status, at]) => [`${status}-at`, at])),
      error: version.error,
      'error-message': version.error_message,
      'ingress-attributes':
        version.commit_sha === null
          ? null
          : {
              'commit-sha': version.commit_sha,
              'commit-url': version.commit_url ?? '',
              identifier: version.commit_identifier ?? '',
            },
      'created-at': version.created_at,
      'updated-at': version.updated_at,
      policies: version.policies.map((policy) => ({
        name: policy.name,
        query: policy.query,
        'enforcement-level': policy.enforcement_level,
        description: policy.description,
      })),
    },
    relationships: {
      'policy-set': { data: { id: version.policy_set_id, type: 'policy-sets' } },
      'created-by': {
        data: version.created_by_user_id === null ? null : { id: version.created_by_user_id, type: 'users' },
      },
    },
    links: { self: `/api/v2/policy-set-versions/${version.id}`, ...(upload !== undefined && { upload }) },
  }
}
