import { type AttributeChange, type DiffBudget, changedAttributes, secretsOf } from './attribute-diff.ts'
import { objectAddress, type ParsedState, type StateObject, type StateOutput, typeAddress } from './parsed-state.ts'
import { readState } from './read-state.ts'

type DiffAction = 'added' | 'changed' | 'removed'

type ResourceDiff = {
  address: string
  /** `root` or the module's address. */
  module: string
  type: string
  name: string
  action: DiffAction
  /** Present if changed. */
  provider?: { before: string; after: string }
  /** Present if changed. */
  tainted?: { before: boolean; after: boolean }
  attributes: AttributeChange[]
}

/** Attribute changes of an output have paths into its value; an empty path is the value itself. */
type OutputDiff = { name: string; action: DiffAction; sensitive: boolean; attributes: AttributeChange[] }

export type StateSummary = Pick<ParsedState, 'serial' | 'lineage' | 'engineVersion'>

export type StateDiff = {
  from: StateSummary
  to: StateSummary
  counts: { resources: Record<DiffAction, number>; outputs: Record<DiffAction, number> }
  resources: ResourceDiff[]
  outputs: OutputDiff[]
  /** Whether entries or attribute changes were left out; the counts include them. */
  truncated: boolean
}

export type DiffLimits = {
  /** Maximum number of attribute changes, 5000 by default. */
  changes?: number
  /** Maximum number of listed resources, and of outputs, 2000 by default. */
  entries?: number
}

/**
 * Compares two parsed states, raw or JSON, by the addresses of their objects: a moved object is removed and added. Sensitive values never
 * appear, nor does any text that equals one, since providers copy values to attributes that they do not mark. Throws `invalid`.
 */
export function diffStates(from: unknown, to: unknown, limits: DiffLimits = {}): StateDiff {
  const before = readState(from)
  const after = readState(to)
  const budget: DiffBudget = {
    changes: limits.changes ?? 5000,
    truncated: false,
    secrets: new Set([...secretTexts(before), ...secretTexts(after)]),
  }
  const resources = resourceDiffs(before.objects, after.objects, budget)
  const outputs = outputDiffs(before.outputs, after.outputs, budget)
  const entries = limits.entries ?? 2000
  return {
    from: summary(before),
    to: summary(after),
    counts: { resources: countsOf(resources), outputs: countsOf(outputs) },
    resources: resources.slice(0, entries),
    outputs: outputs.slice(0, entries),
    truncated: budget.truncated || resources.length > entries || outputs.length > entries,
  }
}

function* secretTexts(content: ParsedState) {
  for (const object of content.objects) yield* secretsOf(object.attributes, object.sensitive)
  for (const output of content.outputs) if (output.sensitive) yield* secretsOf(output.value, true)
}

function resourceDiffs(before: StateObject[], after: StateObject[], budget: DiffBudget): ResourceDiff[] {
  const pairs = paired(before, after, objectAddress)
  return pairs.flatMap(([address, old, now]) => {
    const object = now ?? old
    if (object === undefined) return []
    const attributes = changedAttributes(
      side(old?.attributes, old?.sensitive),
      side(now?.attributes, now?.sensitive),
      budget,
    )
    const provider = old && now && old.provider !== now.provider && { before: old.provider, after: now.provider }
    const tainted = old && now && old.tainted !== now.tainted && { before: old.tainted, after: now.tainted }
    if (old && now && !attributes.differ && !provider && !tainted) return []
    return [
      {
        address,
        module: object.module === '' ? 'root' : object.module,
        type: typeAddress(object),
        name: object.name,
        action: actionOf(old, now),
        ...(provider && { provider }),
        ...(tainted && { tainted }),
        attributes: attributes.changes,
      },
    ]
  })
}

function outputDiffs(before: StateOutput[], after: StateOutput[], budget: DiffBudget): OutputDiff[] {
  return paired(before, after, (output) => output.name).flatMap(([name, old, now]) => {
    const sensitive = old?.sensitive === true || now?.sensitive === true
    const mark = sensitive || undefined
    const { changes, differ } = changedAttributes(
      old && { value: old.value, sensitive: mark },
      now && { value: now.value, sensitive: mark },
      budget,
    )
    if (old && now && !differ && old.sensitive === now.sensitive) return []
    return [{ name, action: actionOf(old, now), sensitive, attributes: changes }]
  })
}

function side(value: unknown, sensitive: StateObject['sensitive']) {
  return value === undefined ? undefined : { value, sensitive }
}

function actionOf(old: unknown, now: unknown): DiffAction {
  if (old === undefined) return 'added'
  return now === undefined ? 'removed' : 'changed'
}

/** Pairs the items of both lists by name, sorted; of a repeated name, the last item counts. */
function paired<T>(before: T[], after: T[], nameOf: (item: T) => string): [string, T | undefined, T | undefined][] {
  const old = new Map(before.map((item) => [nameOf(item), item]))
  const now = new Map(after.map((item) => [nameOf(item), item]))
  const names = [...new Set([...old.keys(), ...now.keys()])].sort()
  return names.map((name) => [name, old.get(name), now.get(name)])
}

function countsOf(diffs: { action: DiffAction }[]) {
  const counts = { added: 0, changed: 0, removed: 0 }
  for (const { action } of diffs) counts[action]++
  return counts
}

function summary({ serial, lineage, engineVersion }: ParsedState): StateSummary {
  return { serial, lineage, engineVersion }
}
