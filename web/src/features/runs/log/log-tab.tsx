import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import { useState } from 'react'
import { EmptyState, Skeleton } from '../../../components/feedback.tsx'
import { type PhaseName, runRoute, TabLink } from '../run-navigation.tsx'
import type { Apply, Plan, Run, RunDocument } from '../run.ts'
import { Diagnostics, useDiagnostics } from './diagnostics.tsx'
import { LogPane } from './log-pane.tsx'
import { hasEnded, hasStarted } from './log-store.ts'

type LogTabProps = Pick<RunDocument, 'run' | 'plan' | 'apply'> & { hasDiagnostics: boolean }

const PHASES = ['plan', 'apply'] as const
const TITLES = { plan: 'Plan', apply: 'Apply' } as const

/** The logs of plan and apply, below their diagnostics unless another tab shows these. */
export function LogTab({ run, plan, apply, hasDiagnostics }: LogTabProps) {
  const search = runRoute.useSearch()
  const diagnostics = useDiagnostics(plan, apply)
  // Once the user interacts with a log, the start of the apply does not replace it.
  const [pinned, setPinned] = useState<PhaseName>()
  if (!plan) return <Skeleton />
  const phases = { plan, apply }
  const latest = PHASES.findLast((name) => phases[name] && hasStarted(phases[name])) ?? 'plan'
  const name = PHASES.find((phase) => phase === search.phase) ?? pinned ?? latest
  const pin = () => setPinned(name)
  const phase = phases[name]
  return (
    <div className="space-y-3">
      {hasDiagnostics && (
        <Diagnostics
          diagnostics={diagnostics}
          linkOf={({ phase: own, line }) => (
            <TabLink search={{ part: 'log', phase: own, line: line + 1 }} isMerged className="shrink-0 text-accent">
              View in log
            </TabLink>
          )}
        />
      )}
      <nav aria-label="Logs" className="flex gap-1">
        {PHASES.map((own) => (
          <TabLink
            key={own}
            search={{ part: 'log', phase: own, line: undefined }}
            isMerged
            replace
            aria-current={own === name ? 'page' : undefined}
            className="rounded-md border border-transparent px-3 py-1 font-medium text-dim no-underline hover:bg-hover aria-[current]:border-line aria-[current]:bg-paper aria-[current]:text-ink"
          >
            {TITLES[own]}
          </TabLink>
        ))}
      </nav>
      {phase && hasStarted(phase) ? (
        <div onPointerDown={pin} onKeyDown={pin} onWheel={pin}>
          <LogPane key={phase.id} name={name} phase={phase} />
        </div>
      ) : (
        <EmptyState title={`No ${name} log`}>
          <p>{missingLogReason(name, phase, run)}</p>
        </EmptyState>
      )}
    </div>
  )
}

export function missingLogReason(name: PhaseName, phase: Plan | Apply | undefined, { attributes }: Run) {
  if (phase && !hasEnded(phase)) return `The log appears once an agent starts the ${name}.`
  if (name === 'apply' && attributes['plan-only']) return 'This run is plan-only.'
  if (attributes.status === 'planned_and_finished') return 'There was nothing to apply.'
  const { group, label } = RUN_STATUS_TABLE[attributes.status]
  const reason = group === 'stopped' ? `The run was ${label}.` : attributes['error-message']
  return `The ${name} never started. ${reason ?? ''}`.trim()
}
