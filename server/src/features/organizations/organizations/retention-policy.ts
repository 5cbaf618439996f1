import type { DataRetentionPolicyResource } from '@groundstate/contract/data-retention'
import type { PolicyColumn } from './retention-policy-store.ts'

/** How a resource names its policy. Clients learn from the type here which of the two they are to read. */
export function policyIdentifier(policy: PolicyColumn) {
  return { data: policy && { id: policy.id, type: policyType(policy.days) } }
}

/** The type says what the policy does. */
function policyType(days: number | null): DataRetentionPolicyResource['type'] {
  return days === null ? 'data-retention-policy-dont-deletes' : 'data-retention-policy-delete-olders'
}
