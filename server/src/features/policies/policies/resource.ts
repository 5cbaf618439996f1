import type { PolicyResource } from '@groundstate/contract/policies'
import type { PolicyRow } from './store.ts'

export function policyResource(policy: PolicyRow): PolicyResource {
  const self = `/api/v2/policies/${policy.id}`
  return {
    id: policy.id,
    type: 'policies',
    attributes: {
      name: policy.name,
      description: policy.description,
      kind: 'opa',
      query: policy.query,
      'enforcement-level': policy.enforcement_level,
      enforce: policy.digest === null ? [] : [{ path: `${policy.name}.rego`, mode: policy.enforcement_level }],
      'policy-set-count': policy.policy_set_ids.length,
      'created-at': policy.created_at,
      'updated-at': policy.updated_at,
      'is-uploaded': policy.digest !== null,
    },
    relationships: {
      organization: { data: { id: policy.organization_name, type: 'organizations' } },
      'policy-sets': { data: policy.policy_set_ids.map((id) => ({ id, type: 'policy-sets' })) },
    },
    links: {
      self,
      upload: `${self}/upload`,
      ...(policy.digest !== null && { download: `${self}/download` }),
    },
  }
}
