import type { PageOnWire } from '@groundstate/contract/responses'
import type { stateVersionOutputSchema } from '@groundstate/contract/state-version-outputs'
import { useCallback, useMemo, useRef } from 'react'
import type { AttributeChange } from '../../../components/attribute-diff.tsx'
import type { ApplyEvent } from '../log/apply-events.ts'
import type { PhaseDiagnostic } from '../log/diagnostics.tsx'
import { hasEnded, hasStarted, useLog } from '../log/log-store.ts'
import type { Apply } from '../run.ts'
import type { OutputChange, ResourceChange } from './plan-model.ts'

/** Progress of one address. `since` is a time in ms; `seconds` is the duration of the completed steps. */
type Progress =
  | { state: 'running'; action: ApplyEvent['action']; since: number }
  | { state: 'done'; seconds: number; steps: number }
  | { state: 'failed' }

export function applyProgress(events: readonly ApplyEvent[]): ReadonlyMap<string, Progress> {
  const progress = new Map<string, Progress>()
  const completed = new Map<string, { seconds: number; steps: number }>()
  for (const { address, kind, action, seconds = 0, at } of events) {
    if (kind === 'failed') progress.set(address, { state: 'failed' })
    else if (kind === 'done') {
      const before = completed.get(address) ?? { seconds: 0, steps: 0 }
      const total = { seconds: before.seconds + seconds, steps: before.steps + 1 }
      completed.set(address, total)
      progress.set(address, { state: 'done', ...total })
    } else {
      const running = progress.get(address)
      const since = at - seconds * 1000
      // A line of text has the time at which it was read; a later progress line reveals an earlier start.
      const isContinued = kind === 'progress' && running?.state === 'running'
      progress.set(address, { state: 'running', action, since: isContinued ? Math.min(running.since, since) : since })
    }
  }
  return progress
}

/** Displayed progress of a change. `skipped`: the apply ended before it. */
export type RowProgress =
  | Extract<Progress, { state: 'running' }>
  | { state: 'waiting' | 'failed' | 'skipped' }
  | { state: 'done'; seconds: number | undefined }

/** The progress of a change in an apply that has started; undefined for a change that the apply does not make. */
export function rowProgress(
  { kind, steps, isDeferred }: Pick<ResourceChange, 'kind' | 'steps' | 'isDeferred'>,
  progress: Progress | undefined,
  { apply, hasError }: { apply: 'running' | 'finished' | 'stopped'; hasError: boolean },
): RowProgress | undefined {
  if (isDeferred) return undefined
  if (progress?.state === 'done' && progress.steps >= steps) return { state: 'done', seconds: progress.seconds }
  // Text output has no line for a failure; its diagnostic names the resource.
  if (progress?.state === 'failed' || hasError) return { state: 'failed' }
  if (progress?.state === 'running' && apply === 'running') return progress
  if (apply === 'running') return { state: 'waiting' }
  // The engine prints nothing for changes that affect only the state.
  if (apply === 'finished') return { state: 'done', seconds: progress?.state === 'done' ? progress.seconds : undefined }
  return kind === 'none' ? undefined : { state: 'skipped' }
}

type ProgressOf = (change: ResourceChange) => RowProgress | undefined

export function useApplyProgress(
  apply: Apply | undefined,
  diagnostics: ReadonlyMap<string, readonly PhaseDiagnostic[]>,
): { progressOf: ProgressOf } | undefined {
  const log = useLog(apply)
  const progress = useMemo(() => applyProgress(log?.text.events() ?? []), [log])
  const previous = useRef(new Map<string, RowProgress>())
  const state = apply && (!hasEnded(apply) ? 'running' : isFinished(apply) ? 'finished' : 'stopped')
  const progressOf = useCallback<ProgressOf>(
    (change) => {
      if (state === undefined) return undefined
      const hasError = (diagnostics.get(change.address) ?? []).some(
        ({ phase, severity }) => phase === 'apply' && severity === 'error',
      )
      const row = rowProgress(change, progress.get(change.address), { apply: state, hasError })
      return row && stable(previous.current, change.key, row)
    },
    [progress, diagnostics, state],
  )
  return apply && hasStarted(apply) ? { progressOf } : undefined
}

/** Returns the previous object if it is equal, so that memoised rows do not render again. */
function stable(previous: Map<string, RowProgress>, key: string, row: RowProgress) {
  const before = previous.get(key)
  if (before && JSON.stringify(before) === JSON.stringify(row)) return before
  previous.set(key, row)
  return row
}

export function isFinished({ attributes }: Apply) {
  return attributes.status === 'finished'
}

export function unknownValueText(progress: RowProgress['state'] | undefined) {
  if (progress === 'done') return 'set during apply'
  if (progress === 'failed') return 'unknown: the apply failed'
  if (progress === 'skipped') return 'unknown: not applied'
  return 'known after apply'
}

/** "Applied: 5 added, 1 changed, 0 destroyed" or "Applying: 2 of 6 done". */
export function applySummary(changes: readonly ResourceChange[], progressOf: ProgressOf, { attributes }: Apply) {
  const {
    status,
    'resource-additions': added,
    'resource-changes': changed,
    'resource-destructions': destroyed,
  } = attributes
  if (status === 'finished' && added !== null) {
    const imports = attributes['resource-imports']
    const imported = imports ? `${imports.toLocaleString('en')} imported, ` : ''
    return `Applied: ${imported}${added.toLocaleString('en')} added, ${changed ?? 0} changed, ${destroyed ?? 0} destroyed`
  }
  const states = changes.map((change) => progressOf(change)?.state)
  const count = (state: RowProgress['state']) => states.filter((own) => own === state).length
  const failed = count('failed') > 0 ? `, ${count('failed')} failed` : ''
  const done = `${count('done').toLocaleString('en')} of ${changes.length.toLocaleString('en')} done${failed}`
  if (status === 'finished') return `Applied: ${done}`
  if (status === 'errored') return `Apply failed: ${done}`
  if (status === 'canceled') return `Apply canceled: ${done}`
  return `Applying: ${done}`
}

/** The changes of outputs. Unknown values are taken from the `applied` state unless they are sensitive. */
export function outputChanges(
  outputs: readonly OutputChange[],
  applied: readonly PageOnWire<typeof stateVersionOutputSchema>['data'][number][] | undefined,
): AttributeChange[] {
  const byName = new Map(applied?.map(({ attributes }) => [attributes.name, attributes]))
  return outputs.flatMap((output) => {
    const value = output.isUnknown ? byName.get(output.name) : undefined
    if (!value) return output.attributes().changed
    if (value.sensitive)
      return output.attributes().changed.map((change): AttributeChange => {
        return change.after.kind === 'unknown' ? { ...change, after: { kind: 'sensitive' } } : change
      })
    const { changed, unchanged } = output.attributesWith(value.value)
    return changed.length > 0 ? changed : unchanged
  })
}
