import { getRouteApi, Link } from '@tanstack/react-router'
import { ChevronDown, ChevronUp } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { PlanCounts } from '../../components/plan-counts.tsx'
import { TONE_TEXT } from '../../components/status.tsx'
import { DecisionActions } from './decision-actions.tsx'
import { Deciders } from './decision-deciders.tsx'
import { needsOthers, situation } from './decision-words.ts'
import { RunStatus } from './run-status.tsx'
import type { RunDocument, TaskStage } from './run.ts'
import { verdictLook } from './task-result.tsx'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs/$run')

/**
 * What is to be decided, and by whom: a rail beside the page, and a bar at the bottom of a narrow screen, which opens.
 */
export function Decision({ document }: { document: RunDocument }) {
  const { run, plan, apply, stages } = document
  const { attributes } = run
  const id = useId()
  const [isOpen, setIsOpen] = useState(false)
  const heading = useRef<HTMLHeadingElement>(null)
  const isTheirs = attributes.actions['is-confirmable'] && attributes.permissions['can-apply']
  const needs = needsOthers(document)
  const results = stages.flatMap((stage) => stage.results)

  function onDone() {
    // Twice: the first frame is that in which the button goes.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (globalThis.document.activeElement === globalThis.document.body) heading.current?.focus()
      }),
    )
  }

  return (
    <aside
      aria-labelledby={id}
      className="border-line bg-paper max-lg:fixed max-lg:inset-x-0 max-lg:bottom-0 max-lg:z-20 max-lg:border-t max-lg:shadow-lg md:max-lg:left-56 lg:sticky lg:top-16 lg:max-h-[calc(100dvh-5rem)] lg:overflow-y-auto lg:rounded-lg lg:border"
    >
      <div className="flex items-center gap-3 px-4 py-2.5">
        <h2 id={id} ref={heading} tabIndex={-1} className="sr-only">
          Decision
        </h2>
        <span className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3">
          <RunStatus run={attributes} />
          <Counts plan={plan} apply={apply} />
        </span>
        <span className="lg:hidden">
          <Button
            kind={isTheirs && !isOpen ? 'primary' : 'plain'}
            icon={isOpen ? ChevronDown : ChevronUp}
            aria-expanded={isOpen}
            aria-controls={`${id}-more`}
            onClick={() => setIsOpen(!isOpen)}
          >
            {isOpen ? 'Close' : isTheirs ? 'Decide' : 'More'}
          </Button>
        </span>
      </div>
      <div
        id={`${id}-more`}
        className={`flex flex-col gap-4 border-t border-line px-4 pt-3 pb-4 max-lg:max-h-[70dvh] max-lg:overflow-y-auto ${isOpen ? '' : 'max-lg:hidden'}`}
      >
        <p>{situation(document)}</p>
        {results.length > 0 && <Verdicts stages={stages} />}
        {needs !== undefined && <Deciders runId={run.id} to={needs} />}
        <DecisionActions document={document} onDone={onDone} />
      </div>
    </aside>
  )
}

/** What is to come, and after the apply what was done: it may have stopped halfway. */
function Counts({ plan, apply }: Pick<RunDocument, 'plan' | 'apply'>) {
  const done = apply?.attributes
  if (done && done['resource-additions'] !== null && done.status !== 'pending') {
    return (
      <span className="numeric text-dim">
        {done['resource-additions']} added, {done['resource-changes']} changed, {done['resource-destructions']}{' '}
        destroyed
      </span>
    )
  }
  if (!plan) return null
  const counts = {
    additions: plan.attributes['resource-additions'],
    changes: plan.attributes['resource-changes'],
    destructions: plan.attributes['resource-destructions'],
    imports: plan.attributes['resource-imports'],
  }
  const wasStopped = done?.status === 'errored' || done?.status === 'canceled'
  return wasStopped ? (
    <span className="text-dim">
      planned <PlanCounts counts={counts} />
    </span>
  ) : (
    <PlanCounts counts={counts} />
  )
}

/** What the tasks said, a line each. */
function Verdicts({ stages }: { stages: readonly TaskStage[] }) {
  const params = route.useParams()
  return (
    <div>
      <h3 className="mb-1 text-dim">Run tasks</h3>
      <ul>
        {stages.flatMap((stage) =>
          stage.attributes.status === 'pending' || stage.attributes.status === 'unreachable'
            ? []
            : stage.results.map((result) => {
                const { tone, icon: Icon, text } = verdictLook(result)
                return (
                  <li key={result.id}>
                    <Link
                      to="/app/$organization/workspaces/$workspace/runs/$run"
                      params={params}
                      search={{ part: 'tasks' }}
                      hash={stage.id}
                      resetScroll={false}
                      className="-mx-1 flex items-start gap-1.5 rounded px-1 py-1 no-underline hover:bg-hover"
                    >
                      <Icon size={15} aria-hidden="true" className={`mt-0.5 shrink-0 ${TONE_TEXT[tone]}`} />
                      <span className="min-w-0 flex-1">{result.attributes['task-name']}</span>
                      <span className={TONE_TEXT[tone]}>{text}</span>
                    </Link>
                  </li>
                )
              }),
        )}
      </ul>
    </div>
  )
}
