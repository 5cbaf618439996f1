import { isEnded, RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import { fetchingText } from '../run-commit.tsx'
import { stoppingStage, stopsRun } from '../run-steps.tsx'
import type { RunDocument } from '../run.ts'

/** Whether a cancellation was requested and the engine is still shutting down. */
export function isCanceling({ attributes }: RunDocument['run']) {
  return attributes['force-cancel-available-at'] !== null && !isEnded(attributes.status)
}

/** Whether a saved plan can no longer be applied because the state has changed. */
export function isStalePlan({ attributes }: RunDocument['run']) {
  return attributes.status === 'planned_and_saved' && !attributes.actions['is-confirmable']
}

/** Whether a user or a team, not a run, holds the workspace lock. */
export function isLockedManually({ workspace }: Pick<RunDocument, 'workspace'>) {
  return workspace?.attributes.locked === true && workspace.relationships['locked-by'].data?.type !== 'runs'
}

/** The action that the run needs and that the current user may not perform. */
export function requiredFromOthers(document: RunDocument): 'approve' | 'override' | 'unlock' | undefined {
  const { actions, permissions, status } = document.run.attributes
  if (actions['is-confirmable'] && !permissions['can-apply']) return 'approve'
  const awaiting = document.stages.find(({ attributes }) => attributes.actions['is-overridable'])
  if (awaiting && !awaiting.attributes.permissions['can-override-policy']) return 'override'
  const mayUnlock = document.workspace?.attributes.permissions['can-force-unlock'] === true
  return status === 'pending' && isLockedManually(document) && !mayUnlock ? 'unlock' : undefined
}

/** One or two sentences: what the run waits for or how it ended, who can act, and what happens next. */
export function runSituation({ run, workspace, plan, stages, commit }: RunDocument): string {
  const { attributes } = run
  const { permissions, actions, status } = attributes
  const name = workspace?.attributes.name ?? 'the workspace'
  if (isCanceling(run))
    return 'Cancellation requested: the engine is finishing operations in progress and saving the state.'
  if (isStalePlan(run)) return 'This plan is stale: the state has changed since it was created. Create a new plan.'
  if (actions['is-confirmable']) {
    const next = permissions['can-apply']
      ? 'Review the changes, then apply them or discard the run.'
      : `Waiting for approval by a user who can apply runs in ${name}.`
    return status === 'planned_and_saved'
      ? `The saved plan can be applied until the state changes, and does not block other runs. ${next}`
      : next
  }
  if (status === 'post_plan_awaiting_decision')
    return 'A mandatory policy failed or could not be evaluated. Override it to let the run continue, or discard the run.'
  if (stages.some((stage) => stopsRun(stage) && hasFailedPolicies(stage)))
    return 'A mandatory policy failed or could not be evaluated, and can’t be overridden. Change the configuration or the policy, then start a new run.'
  if (stoppingStage(status, stages) !== undefined) {
    return 'A mandatory task failed and can’t be overridden. Re-run once the task passes, or have a user who manages the workspace’s run tasks make it advisory.'
  }
  if (stages.some(stopsRun) && !isEnded(status)) return 'A mandatory task failed: the run is about to stop.'
  const { summary } = RUN_STATUS_TABLE[status]
  if (summary !== undefined) return summary
  if (status === 'planned_and_finished') {
    return attributes['plan-only']
      ? 'This run is plan-only and can’t be applied.'
      : 'No changes: the infrastructure matches the configuration.'
  }
  return `${progress({ run, stages, commit })} ${nextStep(run, plan)}`.trim()
}

/** Whether policies, not run tasks, made the stage fail. */
function hasFailedPolicies({ evaluations }: RunDocument['stages'][number]) {
  return evaluations.some(({ attributes }) => ['failed', 'errored'].includes(attributes.status))
}

function progress({ run, stages, commit }: Pick<RunDocument, 'run' | 'stages' | 'commit'>) {
  const { status } = run.attributes
  if (status === 'pending') return 'The run is queued in the workspace.'
  if (RUN_STATUS_TABLE[status].awaits === 'configuration') return fetchingText(commit)
  if (RUN_STATUS_TABLE[status].awaits === 'agent') return 'Waiting for an agent.'
  const stage = stages.find(({ attributes }) => attributes.status === 'running')
  if (stage?.evaluations.some(({ attributes }) => ['pending', 'running'].includes(attributes.status)))
    return 'Waiting for policies. A mandatory policy that fails stops the run until it is overridden.'
  if (stage) {
    const isMandatory = stage.results.some(
      ({ attributes }) => attributes['workspace-task-enforcement-level'] === 'mandatory',
    )
    return isMandatory && stage.attributes.stage !== 'post_apply'
      ? 'Waiting for run tasks. A mandatory task that fails stops the run.'
      : 'Waiting for run tasks, which can’t stop the run.'
  }
  return status === 'applying' ? 'Applying the changes.' : 'The run is in progress.'
}

function nextStep({ attributes }: RunDocument['run'], plan: RunDocument['plan']) {
  if (attributes['status-timestamps']['confirmed-at'] !== undefined) return ''
  if (attributes['plan-only']) return 'It is plan-only.'
  if (attributes['auto-apply']) return 'It is applied automatically once the plan and its mandatory tasks succeed.'
  return plan?.attributes.status === 'finished'
    ? 'Then it needs approval.'
    : 'It needs approval if the plan has changes.'
}
