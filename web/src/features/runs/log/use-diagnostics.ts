import { useMemo } from 'react'
import { errorsFirst } from './diagnostic.ts'
import { type LogView, type Phase, useLog } from './log-store.ts'
import type { LoggedDiagnostic } from './log-text.ts'

export type PhaseName = 'plan' | 'apply'
/** A diagnostic, and the log where it stands. */
export type PhaseDiagnostic = LoggedDiagnostic & { phase: PhaseName }

/** What the engine says is wrong with a run, errors first; it comes while the logs are read. */
export function useDiagnostics(plan: Phase | undefined, apply: Phase | undefined): readonly PhaseDiagnostic[] {
  const ofPlan = useLog(plan)
  const ofApply = useLog(apply)
  return useMemo(
    () => together(ofPlan, ofApply),
    // The views are new objects whenever their texts have grown.
    [ofPlan, ofApply],
  )
}

function together(plan: LogView | undefined, apply: LogView | undefined) {
  const of = (view: LogView | undefined, phase: PhaseName): PhaseDiagnostic[] =>
    (view?.text.diagnostics() ?? []).map((diagnostic) => ({ ...diagnostic, phase }))
  const known = new Set<string>()
  // An apply repeats the warnings of its plan, and a plan may say the same of several instances.
  return errorsFirst([...of(plan, 'plan'), ...of(apply, 'apply')]).filter((diagnostic) => {
    const { line: _, phase: __, ...said } = diagnostic
    const text = JSON.stringify(said)
    if (known.has(text)) return false
    known.add(text)
    return true
  })
}
