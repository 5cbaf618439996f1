/**
 * The parts of `terraform show -json <plan file>` that are read here. All are optional, so an incomplete plan of an unknown
 * engine is still counted.
 */
type PlanJson = {
  applyable?: unknown
  errored?: unknown
  resource_changes?: unknown
  resource_drift?: unknown
  output_changes?: unknown
}

export type PlanCounts = { additions: number; changes: number; destructions: number; imports: number }

type ResourceChange = { address?: unknown; previous_address?: unknown; mode?: unknown; change?: unknown }

/**
 * Counts changes as the engine's own summary does. A replacement is an addition and a destruction. A deposed object that is
 * destroyed is a destruction. Data reads and forgotten objects are not counted, and an import counts in addition to its
 * action.
 */
export function planCounts(planJson: unknown): PlanCounts {
  const counts: PlanCounts = { additions: 0, changes: 0, destructions: 0, imports: 0 }
  for (const resource of resourceChanges(planJson)) {
    const change = record(resource.change)
    const actions = actionsOf(change)
    // Removing a data source from the state destroys nothing.
    if (resource.mode === 'data') continue
    if (isImport(change)) counts.imports++
    if (actions.includes('create')) counts.additions++
    if (actions.includes('update')) counts.changes++
    if (actions.includes('delete')) counts.destructions++
  }
  return counts
}

/**
 * Whether applying the plan would change anything. The engine says so in `applyable` (terraform 1.8 and later).
 * Otherwise any action on a resource, a move, an import or a changed output counts. A failed plan has no changes.
 */
export function planHasChanges(planJson: unknown): boolean {
  const plan: PlanJson = record(planJson)
  if (typeof plan.applyable === 'boolean') return plan.applyable
  if (plan.errored === true) return false
  const changes = resourceChanges(plan)
  if (changes.some(isChange)) return true
  if (Object.values(record(plan.output_changes)).some((output) => isAction(actionsOf(record(output))))) return true
  // Applying a refresh-only plan records the drift.
  return changes.length === 0 && Array.isArray(plan.resource_drift) && plan.resource_drift.length > 0
}

function isChange(resource: ResourceChange) {
  const { previous_address: previous, address } = resource
  const isMove = typeof previous === 'string' && previous !== '' && previous !== address
  const change = record(resource.change)
  return isMove || isImport(change) || isAction(actionsOf(change))
}

function isAction(actions: string[]) {
  return actions.some((action) => action !== 'no-op')
}

function isImport(change: Record<string, unknown>) {
  return typeof change.importing === 'object' && change.importing !== null
}

function actionsOf(change: Record<string, unknown>): string[] {
  return Array.isArray(change.actions) ? change.actions.filter((action) => typeof action === 'string') : []
}

function resourceChanges(planJson: unknown): ResourceChange[] {
  const changes = record(planJson).resource_changes
  return Array.isArray(changes) ? changes.map(record) : []
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
