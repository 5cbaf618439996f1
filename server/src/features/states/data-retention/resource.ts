import type { DataRetentionPolicyResource } from '@groundstate/contract/data-retention'
import type { PolicyRow } from './store.ts'

/** A policy with the resource that it is attached to. */
export type DataRetentionPolicy = PolicyRow & { target: { id: string; type: 'organizations' | 'workspaces' } }

export function dataRetentionPolicyResource(policy: DataRetentionPolicy): DataRetentionPolicyResource {
  const { id, delete_older_than_days: days } = policy
  const relationships = { target: { data: policy.target } }
  if (days === null) return { id, type: 'data-retention-policy-dont-deletes', attributes: {}, relationships }
  const attributes = { 'delete-older-than-n-days': days }
  return { id, type: 'data-retention-policy-delete-olders', attributes, relationships }
}
