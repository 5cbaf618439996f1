import type { PageOnWire } from '@groundstate/contract/responses'
import type { stateVersionOutputSchema } from '@groundstate/contract/state-version-outputs'
import type { AttributeChange } from '../../../components/attribute-diff.tsx'
import type { OutputChange } from './plan-model.ts'

type StoredOutput = PageOnWire<typeof stateVersionOutputSchema>['data'][number]

/**
 * The changes of outputs. What the plan did not know has the value that the apply has `stored`, unless it is sensitive or
 * nobody has read it yet.
 */
export function outputChanges(
  outputs: readonly OutputChange[],
  stored: readonly StoredOutput[] | undefined,
): AttributeChange[] {
  const byName = new Map(stored?.map(({ attributes }) => [attributes.name, attributes]))
  return outputs.flatMap((output) => {
    const found = output.isUnknown ? byName.get(output.name) : undefined
    if (!found) return output.attributes().changed
    if (found.sensitive) return output.attributes().changed.map(withheld)
    const { changed, unchanged } = output.attributesWith(found.value)
    return changed.length > 0 ? changed : unchanged
  })
}

function withheld(change: AttributeChange): AttributeChange {
  return change.after.kind === 'unknown' ? { ...change, after: { kind: 'sensitive' } } : change
}
