import type { RunPartProps } from '../log/log-part.tsx'
import type { ResourceChange } from './plan-model.ts'
import type { RowProgress } from './row-progress.ts'

/** What an apply has done, or is at: "5 added, 1 changed, 0 destroyed". */
export function appliedWords(
  changes: readonly ResourceChange[],
  progressOf: (change: ResourceChange) => RowProgress | undefined,
  apply: NonNullable<RunPartProps['apply']>,
) {
  const states = changes.map((change) => progressOf(change)?.state)
  const count = (state: RowProgress['state']) => states.filter((own) => own === state).length
  const of = `${count('done').toLocaleString('en')} of ${changes.length.toLocaleString('en')}`
  const failed = count('failed') > 0 ? `, ${count('failed')} failed` : ''
  const { status } = apply.attributes
  const additions = apply.attributes['resource-additions']
  if (status === 'finished' && additions !== null) {
    const {
      'resource-changes': updates,
      'resource-destructions': destructions,
      'resource-imports': imports,
    } = apply.attributes
    const imported = imports ? `${imports.toLocaleString('en')} imported, ` : ''
    return `Applied: ${imported}${additions.toLocaleString('en')} added, ${updates ?? 0} changed, ${destructions ?? 0} destroyed`
  }
  if (status === 'finished') return `Applied: ${of} done${failed}`
  if (status === 'errored') return `The apply failed: ${of} done${failed}`
  if (status === 'canceled') return `The apply was canceled: ${of} done${failed}`
  return `Applying: ${of} done${failed}`
}
