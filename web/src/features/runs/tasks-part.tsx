import { ListChecks } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { StatusText } from '../../components/status.tsx'
import { type StepState, stageState } from './run-stages.ts'
import { STAGE_TITLES } from './run-words.ts'
import type { Run, TaskStage } from './run.ts'
import { STEP_LOOKS } from './stage-strip.tsx'
import { TaskResultItem } from './task-result.tsx'

/** What the run tasks said, by stage. */
export function TasksPart({ run, stages }: { run: Run; stages: readonly TaskStage[] }) {
  if (stages.length === 0) {
    return (
      <EmptyState icon={ListChecks} title="No run task was asked about this run">
        <p>
          A run task asks another service before or after the plan and the apply: a security scan, a cost check, an
          approval elsewhere. Attach one in the tab Tasks of the workspace, and the next run asks it.
        </p>
      </EmptyState>
    )
  }
  return (
    <div className="space-y-4">
      {stages.map((stage) => (
        <StageCard key={stage.id} stage={stage} mayRedeliver={run.attributes.permissions['can-apply']} />
      ))}
    </div>
  )
}

const ABSENCES: Partial<Record<StepState, string>> = {
  ahead: 'The tasks are not asked yet.',
  skipped: 'The run did not come so far: the tasks were not asked.',
}

/** The results of one stage; or why there are none. */
export function StageCard({ stage, mayRedeliver }: { stage: TaskStage; mayRedeliver: boolean }) {
  const { state, text } = stageState(stage)
  const { tone, icon } = STEP_LOOKS[state]
  const absence = ABSENCES[state]
  return (
    <div id={stage.id} className="scroll-mt-20">
      <Card
        title={STAGE_TITLES[stage.attributes.stage]}
        isFlush
        actions={
          <StatusText tone={tone} icon={icon} isBusy={state === 'running'}>
            {text}
          </StatusText>
        }
      >
        {absence === undefined ? (
          <ul className="divide-y divide-line border-t border-line">
            {stage.results.map((result) => (
              <TaskResultItem
                key={result.id}
                result={result}
                runId={stage.relationships.run.data?.id ?? ''}
                mayRedeliver={mayRedeliver}
              />
            ))}
          </ul>
        ) : (
          <p className="px-4 pb-3 text-dim">{absence}</p>
        )}
      </Card>
    </div>
  )
}
