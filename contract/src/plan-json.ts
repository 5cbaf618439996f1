import { record, records } from './redacted-plan.ts'

/*
 * Reads `terraform show -json <plan file>`. Every member is optional, so an incomplete plan of an unknown engine is still counted.
 */

type Fields = Record<string, unknown>
export type PlanCounts = { additions: number; changes: number; destructions: number; imports: number }

/**
 * Counts changes as the engine's summary does. A replacement is an addition and a destruction. The destruction of a deposed object is a
 * destruction. Data reads and forgotten objects are not counted, and an import counts in addition to its action.
 */
export function planCounts(planJson: unknown): PlanCounts {
  const counts: PlanCounts = { additions: 0, changes: 0, destructions: 0, imports: 0 }
  for (const resource of records(record(planJson).resource_changes)) {
    // Removing a data source from the state destroys nothing.
    if (resource.mode === 'data') continue
    const change = record(resource.change)
    const actions = actionsOf(change)
    if (isImport(change)) counts.imports++
    if (actions.includes('create')) counts.additions++
    if (actions.includes('update')) counts.changes++
    if (actions.includes('delete')) counts.destructions++
  }
  return counts
}

/**
 * Whether applying the plan would change anything, from `applyable` (terraform 1.8 and later). Without it, any action on a resource, a move,
 * an import or a changed output counts. A failed plan has no changes.
 */
export function planHasChanges(planJson: unknown): boolean {
  const plan = record(planJson)
  if (typeof plan.applyable === 'boolean') return plan.applyable
  if (plan.errored === true) return false
  const changes = records(plan.resource_changes)
  if (changes.some(isChange)) return true
  if (Object.values(record(plan.output_changes)).some((output) => hasAction(record(output)))) return true
  // Applying a refresh-only plan records the drift.
  return changes.length === 0 && records(plan.resource_drift).length > 0
}

function isChange(resource: Fields) {
  const { previous_address: previous, address } = resource
  const isMove = typeof previous === 'string' && previous !== '' && previous !== address
  const change = record(resource.change)
  return isMove || isImport(change) || hasAction(change)
}

function hasAction(change: Fields) {
  return actionsOf(change).some((action) => action !== 'no-op')
}

function isImport(change: Fields) {
  return typeof change.importing === 'object' && change.importing !== null
}

function actionsOf(change: Fields): string[] {
  return Array.isArray(change.actions) ? change.actions.filter((action) => typeof action === 'string') : []
}
