import type { OpaVersionResource } from '@groundstate/contract/opa-versions'
import type { OpaVersionRow } from './store.ts'

export function opaVersionResource(row: OpaVersionRow & { isLatest: boolean }): OpaVersionResource {
  const main = row.archs.find(({ os, arch }) => os === 'linux' && arch === 'amd64')
  return {
    id: row.id,
    type: 'opa-versions',
    attributes: {
      version: row.version,
      url: main?.url ?? null,
      sha: main?.sha ?? null,
      deprecated: row.deprecated,
      'deprecated-reason': row.deprecated_reason,
      official: row.official,
      enabled: row.enabled,
      beta: row.beta,
      usage: row.usage,
      'used-by': row.users.map(({ organization, set }) => ({ organization, 'policy-set': set })),
      latest: row.isLatest,
      'created-at': row.created_at,
      archs: row.archs,
    },
    links: { self: `/api/v2/admin/opa-versions/${row.id}` },
  }
}
