import { printExact } from '@groundstate/contract/exact-json'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { ApiError, get } from '../../../api/client.ts'
import { isTransient } from '../../../api/queries.ts'
import { localAddress } from '../../../components/module-rows.tsx'
import type { Run } from '../run.ts'
import { attributeChanges, hasMark, type PlannedChange } from './attribute-changes.ts'

/** The displayed parts of the engine's plan JSON; see `redacted-plan.ts` in the contract. */
export type PlanJson = {
  resource_changes?: readonly PlannedResource[]
  resource_drift?: readonly PlannedResource[]
  deferred_changes?: readonly { reason?: string; resource_change: PlannedResource }[]
  output_changes?: Readonly<Record<string, PlannedChange>>
}
export type PlannedResource = {
  address: string
  previous_address?: string
  module_address?: string
  deposed?: string
  action_reason?: string
  change: PlannedChange
}

/** `none` is a resource that is only moved in the state, or only imported. */
export const CHANGE_KINDS = ['create', 'update', 'replace', 'destroy', 'read', 'forget', 'none'] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

export type ResourceChange = ReturnType<typeof resourceChange>
export type OutputChange = ReturnType<typeof outputChange>
export type PlanModel = ReturnType<typeof planModel>

/** The changes in a plan, without resources that neither change nor are moved or imported. */
export function planModel(plan: PlanJson) {
  const planned = (plan.resource_changes ?? []).map((resource) => resourceChange(resource))
  const deferred = (plan.deferred_changes ?? []).map(({ resource_change: resource, reason }) =>
    resourceChange(resource, { deferredFor: reason ?? '' }),
  )
  const outputs = Object.entries(plan.output_changes ?? {}).map(([name, change]) => outputChange(name, change))
  return {
    resources: [...planned, ...deferred].filter(({ kind, isMove, isImport }) => kind !== 'none' || isMove || isImport),
    drift: (plan.resource_drift ?? []).map((resource) => resourceChange(resource, { isDrift: true })),
    outputs: outputs.filter(({ kind }) => kind !== 'none'),
  }
}

export function destroyedAddresses({ resources }: PlanModel): string[] {
  return resources.filter(({ kind }) => kind === 'destroy' || kind === 'replace').map(({ address }) => address)
}

function kindOf(actions: readonly string[]): ChangeKind {
  if (actions.includes('delete')) return actions.includes('create') ? 'replace' : 'destroy'
  if (actions.includes('forget')) return actions.includes('create') ? 'create' : 'forget'
  const [action] = actions
  return action === 'create' || action === 'update' || action === 'read' ? action : 'none'
}

type ChangeContext = { isDrift?: boolean; deferredFor?: string }

function resourceChange(resource: PlannedResource, { isDrift = false, deferredFor }: ChangeContext = {}) {
  const { address, change, deposed, previous_address: previous, module_address: module = '' } = resource
  const isMove = previous !== undefined && previous !== address
  const kind = kindOf(change.actions)
  return {
    /** Unique key; a resource and its deposed objects have the same address. */
    key: [isDrift ? 'drift' : 'change', address, deposed ?? ''].join(' '),
    address,
    /** `''` for the root module. */
    module,
    localAddress: localAddress(address, module),
    kind,
    isDrift,
    isImport: Boolean(change.importing),
    isMove,
    isDeferred: deferredFor !== undefined,
    notes: notesOf(resource, { kind, isMove, deferredFor }),
    steps: kind === 'replace' ? 2 : 1,
    attributes: once(() => attributeChanges(change)),
    has: finder(`${address} ${previous ?? ''}`, change),
  }
}

function outputChange(name: string, change: PlannedChange) {
  return {
    name,
    kind: kindOf(change.actions),
    isUnknown: hasMark(change.after_unknown),
    attributes: once(() => attributeChanges(change, name)),
    /** Like `attributes`, with the value that the apply has set. */
    attributesWith: (value: unknown) => attributeChanges({ ...change, after: value, after_unknown: false }, name),
    has: finder(name, change),
  }
}

/** Returns a function that reports whether the names or a value contain a lower-case text. */
function finder(names: string, { before, after }: PlannedChange) {
  // Values are serialised on the first search only.
  const text = once(() => `${names} ${printExact(before ?? '')} ${printExact(after ?? '')}`.toLowerCase())
  return (part: string) => text().includes(part)
}

function once<T>(compute: () => T) {
  let computed: { value: T } | undefined
  return () => (computed ??= { value: compute() }).value
}

/** Texts for `action_reason` in the plan JSON. */
const REASONS: Record<string, string> = {
  replace_because_tainted: 'tainted: its creation failed',
  replace_because_cannot_update: 'an attribute can’t be updated in place',
  replace_by_request: 'replacement requested by the run',
  replace_by_triggers: 'triggered by replace_triggered_by',
  delete_because_no_resource_config: 'not in the configuration',
  delete_because_no_module: 'its module is not in the configuration',
  delete_because_wrong_repetition: 'its instance key does not match count or for_each',
  delete_because_count_index: 'its index is out of range for count',
  delete_because_each_key: 'its key is not in for_each',
  delete_because_no_move_target: 'moved to a resource that is not in the configuration',
  read_because_config_unknown: 'its configuration is known after apply',
  read_because_dependency_pending: 'depends on a resource with pending changes',
  read_because_check_nested: 'read by a check',
}
const DEFERRALS: Record<string, string> = {
  instance_count_unknown: 'instance count unknown',
  resource_config_unknown: 'configuration unknown',
  provider_config_unknown: 'provider configuration unknown',
  absent_prereq: 'a dependency does not exist yet',
  deferred_prereq: 'a dependency is deferred',
}

function notesOf(
  { previous_address: previous, action_reason: reason = '', deposed, change }: PlannedResource,
  { kind, isMove, deferredFor }: { kind: ChangeKind; isMove: boolean; deferredFor: string | undefined },
) {
  const { importing, actions } = change
  const deferral = deferredFor === undefined ? undefined : DEFERRALS[deferredFor]
  const notes: (string | undefined | false)[] = [
    deferredFor !== undefined && `deferred to a later run${deferral === undefined ? '' : `: ${deferral}`}`,
    deposed !== undefined && `deposed object ${deposed}, left over from a replacement`,
    isMove && `moved from ${previous}`,
    importing ? (importing.id === undefined ? 'imported' : `imported from ${importing.id}`) : undefined,
    kind === 'forget' && 'removed from the state but not destroyed',
    kind === 'create' &&
      actions.includes('forget') &&
      'the old object is removed from the state but not destroyed; a new one is created',
    kind === 'replace' && actions[0] === 'create' && 'the replacement is created before the old object is destroyed',
    REASONS[reason],
  ]
  return notes.filter((note) => typeof note === 'string')
}

/** The redacted plan, null if the server has none. It never changes. */
export function usePlanModel(planId: string | undefined, isAvailable: boolean) {
  return useQuery({
    queryKey: ['plan-models', planId],
    enabled: planId !== undefined && isAvailable,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    retry: (failures, error) => isTransient(error) && (isPlanPending(error) || failures < 3),
    // Comparing megabytes with an identical response would take longer than rendering them.
    structuralSharing: false,
    queryFn: async ({ signal }) => {
      const json = await get<PlanJson | undefined>(`/plans/${planId}/json-output-redacted`, signal)
      return json === undefined ? null : planModel(json)
    },
  })
}

/** Whether the agent has not uploaded the plan yet; an auto-applied run may start its apply before. */
export function isPlanPending(error: Error | null) {
  return error instanceof ApiError && error.status === 503
}

/** The server's reason why the plan is unavailable; undefined for other errors. */
export function unavailableReason(error: Error | null) {
  return error instanceof ApiError && error.status === 422 ? error.message : undefined
}

export function useDestroyedResources(run: Run): readonly string[] | undefined {
  const isPlanned = run.attributes['status-timestamps']['planned-at'] !== undefined
  const { data } = usePlanModel(run.relationships.plan?.data?.id, isPlanned)
  return useMemo(() => (data ? destroyedAddresses(data) : undefined), [data])
}
