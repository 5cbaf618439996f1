import { useCallback, useMemo, useRef } from 'react'
import type { RunPartProps } from '../log/log-part.tsx'
import { hasBegun, isOver, useLog } from '../log/log-store.ts'
import type { PhaseDiagnostic } from '../log/use-diagnostics.ts'
import { applyProgress } from './apply-progress.ts'
import type { ResourceChange } from './plan-model.ts'
import { type ApplyState, rowProgress, type RowProgress } from './row-progress.ts'

export type ProgressOf = (change: ResourceChange) => RowProgress | undefined

/** How far the apply is with each resource; undefined before it has begun. */
export function useApplyRows(
  apply: RunPartProps['apply'],
  diagnostics: ReadonlyMap<string, readonly PhaseDiagnostic[]>,
): { progressOf: ProgressOf } | undefined {
  const log = useLog(apply)
  const progress = useMemo(() => applyProgress(log?.text.events() ?? []), [log])
  const known = useRef(new Map<string, RowProgress>())
  const state = apply && stateOf(apply)
  const progressOf = useCallback<ProgressOf>(
    (change) => {
      if (state === undefined) return undefined
      const hasError = (diagnostics.get(change.address) ?? []).some(
        ({ phase, severity }) => phase === 'apply' && severity === 'error',
      )
      const now = rowProgress(change, progress.get(change.address), { apply: state, hasError })
      return now && stable(known.current, change.key, now)
    },
    [progress, diagnostics, state],
  )
  return apply && hasBegun(apply) ? { progressOf } : undefined
}

/** The same object as long as it says the same: rows are drawn again only when they change. */
function stable(known: Map<string, RowProgress>, key: string, now: RowProgress) {
  const before = known.get(key)
  if (before && JSON.stringify(before) === JSON.stringify(now)) return before
  known.set(key, now)
  return now
}

function stateOf(apply: NonNullable<RunPartProps['apply']>): ApplyState {
  if (!isOver(apply)) return 'running'
  return apply.attributes.status === 'finished' ? 'finished' : 'stopped'
}
