import type { Resource } from '@groundstate/contract/json-api'
import { policyType } from '../../organizations/organizations/retention-policy.ts'
import type { DataRetentionPolicy } from './service.ts'

export function dataRetentionPolicyResource(policy: DataRetentionPolicy): Resource {
  const days = policy.delete_older_than_days
  return {
    id: policy.id,
    type: policyType(days),
    attributes: days === null ? {} : { 'delete-older-than-n-days': days },
    relationships: { target: { data: policy.target } },
  }
}
