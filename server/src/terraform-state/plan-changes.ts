import { createHmac } from 'node:crypto'
import { printExact } from '@groundstate/contract/exact-json'
import { record, records } from '@groundstate/contract/redacted-plan'
import type { PlanDifference } from '@groundstate/contract/reviewed-plans'

/** A change of a plan, with a digest in place of its values. `action` is `no-op` for a move or an import alone. */
export type PlanChange = {
  /** The address of a resource, or `output.<name>`. A deposed object has its key in brackets. */
  address: string
  previousAddress?: string
  mode: 'managed' | 'data' | 'output'
  actions: string[]
  isImport?: true
  digest: string
}

type Fields = Record<string, unknown>

/**
 * The changes in `terraform show -json <plan file>`, sorted by address. Two plans that would do the same have equal changes: digests cover
 * the values before and after, with what is unknown or sensitive in them, what forces a replacement, and imports. They do not cover when
 * the plan was made, or the order of the document. Values may be secrets that are easy to guess, hence the key.
 */
export function planChanges(plan: unknown, digestKey: string): PlanChange[] {
  const document = record(plan)
  const resources = records(document['resource_changes']).flatMap((resource) => resourceChange(resource, digestKey))
  const outputs = Object.entries(record(document['output_changes'])).flatMap(([name, output]) => {
    const change = record(output)
    const actions = actionsOf(change)
    if (!isAction(actions)) return []
    return [{ address: `output.${name}`, mode: 'output' as const, actions, digest: digestOf(change, digestKey) }]
  })
  return [...resources, ...outputs].toSorted((a, b) => compare(a.address, b.address))
}

/** The differences between a plan and the reviewed one, sorted by address. Empty for equal plans. */
export function planDifferences(reviewed: readonly PlanChange[], planned: readonly PlanChange[]): PlanDifference[] {
  const earlier = new Map(reviewed.map((change) => [change.address, change]))
  const later = new Map(planned.map((change) => [change.address, change]))
  const addresses = [...new Set([...earlier.keys(), ...later.keys()])].toSorted(compare)
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

function resourceChange(resource: Fields, digestKey: string): PlanChange[] {
  const { address, previous_address: previous, mode, deposed } = resource
  const { generated_config: _, ...change } = record(resource['change'])
  const actions = actionsOf(change)
  const isImport = change['importing'] !== undefined && change['importing'] !== null
  const isMove = typeof previous === 'string' && previous !== address
  if (typeof address !== 'string' || !(isAction(actions) || isImport || isMove)) return []
  return [
    {
      address: typeof deposed === 'string' ? `${address} (${deposed})` : address,
      ...(isMove && { previousAddress: previous }),
      mode: mode === 'data' ? 'data' : 'managed',
      actions,
      ...(isImport && { isImport }),
      digest: digestOf({ ...change, previous: isMove ? previous : null }, digestKey),
    },
  ]
}

const isAction = (actions: readonly string[]) => actions.some((action) => action !== 'no-op')

function actionsOf({ actions }: Fields): string[] {
  return Array.isArray(actions) ? actions.filter((action) => typeof action === 'string') : []
}

function digestOf(change: Fields, key: string) {
  const paths = change['replace_paths']
  const sorted = Array.isArray(paths) ? paths.map((path) => canonical(path)).toSorted(compare) : null
  return createHmac('sha256', key)
    .update(canonical({ ...change, replace_paths: sorted }))
    .digest('base64url')
    .slice(0, 22)
}

/** JSON with sorted keys, so that equal values have equal texts. */
function canonical(value: unknown): string {
  return printExact(sortedKeys(value))
}

function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => compare(a, b))
  return Object.fromEntries(entries.map(([key, member]) => [key, sortedKeys(member)]))
}

function compare(a: string, b: string) {
  return a < b ? -1 : a > b ? 1 : 0
}
