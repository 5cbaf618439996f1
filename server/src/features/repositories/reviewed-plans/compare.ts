import type { PlanDifference } from '@groundstate/contract/reviewed-plans'
import type { PlanChange } from '../../../terraform-state/plan-changes.ts'

/** What a plan does otherwise than the reviewed one, sorted by address. Empty for plans that do the same. */
export function planDifferences(reviewed: readonly PlanChange[], planned: readonly PlanChange[]): PlanDifference[] {
  const earlier = new Map(reviewed.map((change) => [change.address, change]))
  const later = new Map(planned.map((change) => [change.address, change]))
  const addresses = [...new Set([...earlier.keys(), ...later.keys()])].toSorted()
  return addresses.flatMap((address) => {
    const [before, after] = [earlier.get(address), later.get(address)]
    if (before && after && before.digest === after.digest) return []
    return {
      address,
      kind: before ? (after ? 'changed' : 'removed') : 'added',
      'reviewed-actions': before?.actions ?? [],
      'planned-actions': after?.actions ?? [],
    }
  })
}
