import { printExact } from '@groundstate/contract/exact-json'
import type { AttributeChange } from '../../../components/attribute-diff.tsx'
import { attributeChanges, hasMark, type PlannedChange } from './attribute-changes.ts'

/** The engine's plan JSON, as far as it is shown; see `redacted-plan.ts` of the contract. */
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
  mode?: string
  type?: string
  name?: string
  deposed?: string
  action_reason?: string
  change: PlannedChange
}

/** `none` is a resource that only moves in the state, or is only taken into it. */
export const CHANGE_KINDS = ['create', 'update', 'replace', 'destroy', 'read', 'forget', 'none'] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

export type ResourceChange = {
  /** Tells rows apart: a resource may be there with its deposed objects. */
  key: string
  address: string
  /** `''` for the root module. */
  module: string
  /** The address within its module. */
  localAddress: string
  kind: ChangeKind
  isDrift: boolean
  /** What else is to be said, in words: why, from where, under which id. */
  notes: readonly string[]
  isImport: boolean
  isMove: boolean
  isDeferred: boolean
  /** The steps that the apply takes: two for a replacement. */
  steps: number
  attributes: () => { changed: AttributeChange[]; unchanged: AttributeChange[] }
  /** Whether the address or a value has the text, which is in lower case. */
  has: (text: string) => boolean
}

export type OutputChange = {
  name: string
  kind: ChangeKind
  /** Whether the plan does not know the value, or a part of it. */
  isUnknown: boolean
  attributes: () => { changed: AttributeChange[]; unchanged: AttributeChange[] }
  /** As `attributes`, with a value that is known since. */
  attributesWith: (value: unknown) => { changed: AttributeChange[]; unchanged: AttributeChange[] }
  has: (text: string) => boolean
}

export type PlanModel = {
  resources: readonly ResourceChange[]
  drift: readonly ResourceChange[]
  outputs: readonly OutputChange[]
}

/** What a plan changes. Resources that stay as they are are left out, unless they are moved or imported. */
export function planModel(plan: PlanJson): PlanModel {
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

/** The addresses of what a plan destroys, or destroys to create it anew. */
export function destroyedAddresses({ resources }: PlanModel): string[] {
  return resources.filter(({ kind }) => kind === 'destroy' || kind === 'replace').map(({ address }) => address)
}

function kindOf(actions: readonly string[]): ChangeKind {
  if (actions.includes('delete')) return actions.includes('create') ? 'replace' : 'destroy'
  if (actions.includes('forget')) return actions.includes('create') ? 'create' : 'forget'
  const [action] = actions
  return action === 'create' || action === 'update' || action === 'read' ? action : 'none'
}

function resourceChange(
  resource: PlannedResource,
  { isDrift = false, deferredFor }: { isDrift?: boolean; deferredFor?: string } = {},
): ResourceChange {
  const { address, change, deposed, previous_address: previous } = resource
  const module = resource.module_address ?? ''
  const isMove = previous !== undefined && previous !== address
  const kind = kindOf(change.actions)
  return {
    key: [isDrift ? 'drift' : 'change', address, deposed ?? ''].join(' '),
    address,
    module,
    localAddress: module !== '' && address.startsWith(`${module}.`) ? address.slice(module.length + 1) : address,
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

function outputChange(name: string, change: PlannedChange): OutputChange {
  return {
    name,
    kind: kindOf(change.actions),
    isUnknown: hasMark(change.after_unknown),
    attributes: once(() => attributeChanges(change, name)),
    attributesWith: (value) => attributeChanges({ ...change, after: value, after_unknown: false }, name),
    has: finder(name, change),
  }
}

function finder(names: string, { before, after }: PlannedChange) {
  // Values are turned into text at the first search, not when the page opens.
  const text = once(() => `${names} ${printExact(before ?? '')} ${printExact(after ?? '')}`.toLowerCase())
  return (part: string) => text().includes(part)
}

function once<T>(make: () => T) {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** The reasons of the engine's plan JSON, in words. */
const REASONS: Record<string, string> = {
  replace_because_tainted: 'it is tainted: its creation did not come to its end',
  replace_because_cannot_update: 'an attribute changes that can not be changed in place',
  replace_by_request: 'the run asks for it',
  replace_by_triggers: 'something in its replace_triggered_by changes',
  delete_because_no_resource_config: 'it is not in the configuration any more',
  delete_because_no_module: 'its module is not in the configuration any more',
  delete_because_wrong_repetition: 'its instance key does not fit to count or for_each any more',
  delete_because_count_index: 'its index is beyond count now',
  delete_because_each_key: 'its key is not in for_each any more',
  delete_because_no_move_target: 'it was moved to a resource that is not in the configuration',
  read_because_config_unknown: 'its configuration is known after the apply only',
  read_because_dependency_pending: 'it depends on a resource that changes',
  read_because_check_nested: 'a check reads it',
}
const DEFERRALS: Record<string, string> = {
  instance_count_unknown: 'how many there are is not known yet',
  resource_config_unknown: 'its configuration is not known yet',
  provider_config_unknown: 'the configuration of its provider is not known yet',
  absent_prereq: 'something that it needs is not there yet',
  deferred_prereq: 'something that it needs is deferred',
}

function notesOf(
  { previous_address: previous, action_reason: reason, deposed, change }: PlannedResource,
  { kind, isMove, deferredFor }: { kind: ChangeKind; isMove: boolean; deferredFor: string | undefined },
) {
  const importing = change.importing
  const isAnew = change.actions.includes('forget') && kind === 'create'
  return [
    ...(deferredFor === undefined ? [] : [`deferred to a later run${because(DEFERRALS[deferredFor])}`]),
    ...(deposed === undefined ? [] : [`the old object ${deposed}, which a replacement has left behind`]),
    ...(isMove ? [`moved from ${previous}`] : []),
    ...(importing ? [importing.id === undefined ? 'imported' : `imported from ${importing.id}`] : []),
    ...(kind === 'forget' ? ['leaves the state; the real thing stays'] : []),
    ...(isAnew ? ['the old one leaves the state and stays; a new one is created'] : []),
    ...(kind === 'replace' && change.actions[0] === 'create'
      ? ['the new one is created before the old one is destroyed']
      : []),
    ...(reason === undefined || REASONS[reason] === undefined ? [] : [REASONS[reason]]),
  ]
}

function because(reason: string | undefined) {
  return reason === undefined ? '' : `: ${reason}`
}
