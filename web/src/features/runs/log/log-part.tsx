import type { applySchema, planSchema } from '@groundstate/contract/plans'
import type { Wire } from '@groundstate/contract/responses'
import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import type { runSchema } from '@groundstate/contract/runs'
import { Link, getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { EmptyState, Skeleton } from '../../../components/feedback.tsx'
import { Diagnostics } from './diagnostics.tsx'
import { LogPane } from './log-pane.tsx'
import { hasBegun, isOver } from './log-store.ts'
import { type PhaseDiagnostic, type PhaseName, useDiagnostics } from './use-diagnostics.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs/$run')

export type RunPartProps = {
  run: Wire<typeof runSchema>
  plan: Wire<typeof planSchema> | undefined
  apply: Wire<typeof applySchema> | undefined
}

const TITLES = { plan: 'Plan', apply: 'Apply' } as const

/**
 * What the engine has printed, for the plan and the apply, with what it says is wrong above; `hasDiagnostics` is false where
 * that stands elsewhere on the page.
 */
export function LogPart({ run, plan, apply, hasDiagnostics = true }: RunPartProps & { hasDiagnostics?: boolean }) {
  const search = route.useSearch()
  const diagnostics = useDiagnostics(plan, apply)
  // What somebody has begun to read does not give way when the apply starts.
  const [held, setHeld] = useState<PhaseName>()
  if (!plan) return <Skeleton />
  const phases = { plan, apply }
  const begun = (['plan', 'apply'] as const).filter((name) => phases[name] && hasBegun(phases[name]))
  const asked = (['plan', 'apply'] as const).find((name) => name === search.phase)
  const name = asked ?? held ?? begun.at(-1) ?? 'plan'
  const hold = () => setHeld(name)
  const phase = phases[name]
  return (
    <div className="space-y-3">
      {hasDiagnostics && <Diagnostics diagnostics={diagnostics} beside={linkToLine} />}
      <nav aria-label="Logs" className="flex gap-1">
        {(['plan', 'apply'] as const).map((of) => (
          <Link
            key={of}
            from="/app/$organization/workspaces/$workspace/runs/$run"
            to="."
            search={(before) => ({ ...before, part: 'log', phase: of, line: undefined })}
            resetScroll={false}
            replace
            aria-current={of === name ? 'page' : undefined}
            className="rounded-md border border-transparent px-3 py-1 font-medium text-dim no-underline hover:bg-hover aria-[current]:border-line aria-[current]:bg-paper aria-[current]:text-ink"
          >
            {TITLES[of]}
          </Link>
        ))}
      </nav>
      {phase && hasBegun(phase) ? (
        <div onPointerDown={hold} onKeyDown={hold} onWheel={hold}>
          <LogPane key={phase.id} name={name} phase={phase} />
        </div>
      ) : (
        <EmptyState title={`There is no log of the ${name}`}>
          <p>{whyNone(name, phase, run)}</p>
        </EmptyState>
      )}
    </div>
  )
}

function linkToLine(diagnostic: PhaseDiagnostic) {
  return <LineLink diagnostic={diagnostic} />
}

function LineLink({ diagnostic: { phase, line } }: { diagnostic: PhaseDiagnostic }) {
  return (
    <Link
      from="/app/$organization/workspaces/$workspace/runs/$run"
      to="."
      search={(before) => ({ ...before, part: 'log', phase, line: line + 1 })}
      resetScroll={false}
      className="shrink-0 text-accent"
    >
      in the log
    </Link>
  )
}

/** Why a phase has no log. */
export function whyNone(
  name: PhaseName,
  phase: RunPartProps['plan'] | RunPartProps['apply'],
  { attributes }: RunPartProps['run'],
) {
  if (phase && !isOver(phase)) return `It appears here as soon as an agent starts the ${name}.`
  if (name === 'apply' && attributes['plan-only']) return 'The run is for its plan only.'
  if (attributes.status === 'planned_and_finished') return 'There was nothing to apply.'
  const { group, label } = RUN_STATUS_TABLE[attributes.status]
  const reason = group === 'stopped' ? `The run was ${label} before.` : attributes['error-message']
  return `The ${name} was never started. ${reason ?? ''}`.trim()
}
