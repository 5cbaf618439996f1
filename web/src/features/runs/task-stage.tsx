import type { Stage } from '@groundstate/contract/run-tasks'
import { Badge } from '../../components/feedback.tsx'
import { RunStatus } from './run-status.tsx'
import type { TaskResultAttributes, TaskStage } from './runs.ts'
import { Absence, Step } from './step.tsx'
import { TaskOutcomes } from './task-outcomes.tsx'
import { isWebAddress } from './web-address.ts'

const TITLES = {
  pre_plan: 'Pre-plan tasks',
  post_plan: 'Post-plan tasks',
  pre_apply: 'Pre-apply tasks',
  post_apply: 'Post-apply tasks',
} as const satisfies Record<Stage, string>

/** The results of a stage's run tasks; or a note that the run did not reach the stage. */
export function TaskStageStep({ stage }: { stage: TaskStage | undefined }) {
  if (!stage || stage.status === 'pending') return null
  const title = TITLES[stage.name]
  if (stage.status === 'unreachable') {
    return (
      <Step title={title} status={<Badge tone="quiet">{stage.status}</Badge>}>
        <Absence>The tasks were not asked.</Absence>
      </Step>
    )
  }
  return (
    <Step title={title} status={<RunStatus status={stage.status} />}>
      <ul className="divide-y divide-slate-200 rounded-lg border border-slate-200 bg-white text-sm empty:hidden dark:divide-slate-800 dark:border-slate-800 dark:bg-slate-900">
        {stage.results.map(({ id, attributes }) => (
          <TaskResult key={id} id={id} result={attributes} />
        ))}
      </ul>
    </Step>
  )
}

function TaskResult({ id, result }: { id: string; result: TaskResultAttributes }) {
  const name = result['task-name']
  return (
    <li className="px-5 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="min-w-0 font-medium">{name}</span>
        <span className="text-slate-500">{result['workspace-task-enforcement-level']}</span>
        <span className="ml-auto">
          <RunStatus status={result.status} />
        </span>
      </div>
      {result.message !== '' && <p className="mt-1 whitespace-pre-line">{result.message}</p>}
      {isWebAddress(result.url) && (
        <p className="mt-1">
          <a
            href={result.url}
            target="_blank"
            rel="noreferrer noopener"
            className="text-indigo-700 underline dark:text-indigo-400"
          >
            Details<span className="sr-only"> of {name}, in a new tab</span>
          </a>
        </p>
      )}
      {result['task-result-outcomes-count'] > 0 && <TaskOutcomes resultId={id} changedAt={result['updated-at']} />}
    </li>
  )
}
