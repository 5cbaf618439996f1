import type { DataRetentionPolicyResource } from '@groundstate/contract/data-retention'
import type { DataRetentionPolicy } from './service.ts'

export function dataRetentionPolicyResource(policy: DataRetentionPolicy): DataRetentionPolicyResource {
  const { id, delete_older_than_days: days } = policy
  const relationships = { target: { data: policy.target } }
  if (days === null) return { id, type: 'data-retention-policy-dont-deletes', attributes: {}, relationships }
  const attributes = { 'delete-older-than-n-days': days }
  return { id, type: 'data-retention-policy-delete-olders', attributes, relationships }
}
