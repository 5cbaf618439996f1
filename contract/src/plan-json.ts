/**
 * Facts of a plan as `terraform show -json <plan file>` tells it. What is read here is optional in every version of the
 * format, so that a plan of an unknown engine counts as little as it says.
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
 * Counts as the engine's own summary does: a replacement is an addition and a destruction, a deposed object that goes is
 * a destruction; reading data and forgetting an object count nowhere, and an import counts besides its action.
 */
export function planCounts(planJson: unknown): PlanCounts {
  const counts: PlanCounts = { additions: 0, changes: 0, destructions: 0, imports: 0 }
  for (const resource of resourceChanges(planJson)) {
    const change = record(resource.change)
    const actions = actionsOf(change)
    // Nothing is destroyed when a data source leaves the state.
    if (resource.mode === 'data') continue
    if (isImport(change)) counts.imports++
    if (actions.includes('create')) counts.additions++
    if (actions.includes('update')) counts.changes++
    if (actions.includes('delete')) counts.destructions++
  }
  return counts
}

/**
 * Whether applying the plan would do anything. The engine says so itself in `applyable` (terraform 1.8 and later);
 * otherwise any action on a resource, a move, an import or a changed output is a change. A failed plan has none.
 */
export function planHasChanges(planJson: unknown): boolean {
  const plan: PlanJson = record(planJson)
  if (typeof plan.applyable === 'boolean') return plan.applyable
  if (plan.errored === true) return false
  const changes = resourceChanges(plan)
  if (changes.some(isChange)) return true
  if (Object.values(record(plan.output_changes)).some((output) => isAction(actionsOf(record(output))))) return true
  // A refresh-only plan proposes nothing for any resource; what it would record is the drift.
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
