import { getRouteApi, Link, Navigate } from '@tanstack/react-router'
import { useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { ChangesPart } from './changes/changes-part.tsx'
import { Decision } from './decision.tsx'
import { LogPart } from './log/log-part.tsx'
import { RunHeader } from './run-header.tsx'
import { RunNotes } from './run-notes.tsx'
import { chosenPart, defaultParts, type Part, PART_TITLES, PARTS } from './run-parts.ts'
import { stepsOf } from './run-stages.ts'
import { runState } from './run-status.tsx'
import { type RunDocument, useQueueUpdates, useRun } from './run.ts'
import { StageStrip } from './stage-strip.tsx'
import { TasksPart } from './tasks-part.tsx'
import { TimelinePart } from './timeline-part.tsx'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs/$run')

/** One run: what it will change, what goes on, and what is to be decided. */
export function RunPage() {
  const { organization, workspace, run: id } = route.useParams()
  const query = useRun(id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage {...failure} what="run" />
  if (!query.data) return <Skeleton />
  // The workspace may have been renamed since the link was made; and the address may name another organization.
  const { name } = query.data.workspace?.attributes ?? { name: workspace }
  const owner = query.data.workspace?.relationships.organization.data?.id ?? organization
  if (name !== workspace || owner !== organization) {
    return (
      <Navigate
        to="/app/$organization/workspaces/$workspace/runs/$run"
        params={{ organization: owner, workspace: name, run: id }}
        search={(before) => before}
        replace
      />
    )
  }
  return <LoadedRun key={id} document={query.data} />
}

function LoadedRun({ document }: { document: RunDocument }) {
  const { run, plan, apply, stages, workspace } = document
  useQueueUpdates(document)
  const { part } = route.useSearch()
  const chosen = chosenPart(part)
  // What somebody has begun to read does not give way to another part when the run goes on.
  const [held, setHeld] = useState<readonly Part[]>()
  const shown = chosen ? [chosen] : (held ?? defaultParts(run, stages))
  const hold = () => setHeld(shown)

  return (
    <RunHeader document={document}>
      <p role="status" className="sr-only">
        The run: {runState(run.attributes).text}
      </p>
      <div className="space-y-4 max-lg:pb-20">
        <RunNotes document={document} />
        <StageStrip steps={stepsOf(document)} />
        <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_22rem] lg:items-start">
          <div className="min-w-0">
            <PartLinks shown={shown} taskCount={stages.flatMap(({ results }) => results).length} />
            <div className="mt-4 space-y-6" onPointerDown={hold} onKeyDown={hold} onWheel={hold}>
              {shown.map((name) => (
                <section key={name} aria-label={PART_TITLES[name]}>
                  {name === 'changes' && <ChangesPart run={run} plan={plan} apply={apply} workspace={workspace} />}
                  {name === 'log' && (
                    // Changes have them too.
                    <LogPart run={run} plan={plan} apply={apply} hasDiagnostics={!shown.includes('changes')} />
                  )}
                  {name === 'tasks' && <TasksPart run={run} stages={stages} />}
                  {name === 'timeline' && <TimelinePart document={document} />}
                </section>
              ))}
            </div>
          </div>
          <Decision document={document} />
        </div>
      </div>
    </RunHeader>
  )
}

/** The parts of the page; each has an address of its own. */
function PartLinks({ shown, taskCount }: { shown: readonly Part[]; taskCount: number }) {
  const params = route.useParams()
  return (
    <nav aria-label="Parts of the run" className="overflow-x-auto border-b border-line">
      <ul className="flex gap-1">
        {PARTS.map((part) => (
          <li key={part}>
            <Link
              to="/app/$organization/workspaces/$workspace/runs/$run"
              params={params}
              search={{ part }}
              resetScroll={false}
              activeProps={{}}
              aria-current={shown.includes(part) ? 'true' : undefined}
              className={`flex items-center gap-1.5 border-b-2 px-3 py-2 font-medium whitespace-nowrap no-underline hover:text-ink ${shown.includes(part) ? 'border-accent text-ink' : 'border-transparent text-dim'}`}
            >
              {PART_TITLES[part]}
              {part === 'tasks' && taskCount > 0 && (
                <span className="numeric rounded bg-hover px-1.5 text-xs">{taskCount}</span>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
