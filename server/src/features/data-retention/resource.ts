import type { Resource } from '@groundstate/contract/json-api'
import type { DataRetentionPolicy } from './service.ts'

/** One of two types, after what the policy does. */
export function dataRetentionPolicyResource(policy: DataRetentionPolicy): Resource {
  const days = policy.delete_older_than_days
  return {
    id: policy.id,
    type: days === null ? 'data-retention-policy-dont-deletes' : 'data-retention-policy-delete-olders',
    attributes: days === null ? {} : { 'delete-older-than-n-days': days },
    relationships: { target: { data: policy.target } },
  }
}
