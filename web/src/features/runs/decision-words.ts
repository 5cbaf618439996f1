import { isEnded, RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import type { RunDocument, TaskStage } from './run.ts'
import { stops, stoppingStage } from './why-ended.ts'

/** Whether the run is being canceled: the engine has been told, and winds up. */
export function isCanceling({ attributes }: RunDocument['run']) {
  return attributes['force-cancel-available-at'] !== null && !isEnded(attributes.status)
}

/** Whether a saved plan can't be applied any more. */
export function isOutdated({ attributes }: RunDocument['run']) {
  return attributes.status === 'planned_and_saved' && !attributes.actions['is-confirmable']
}

/** Whether an apply destroys something. */
export function isDestroying({ run, plan }: Pick<RunDocument, 'run' | 'plan'>) {
  return run.attributes['is-destroy'] || (plan?.attributes['resource-destructions'] ?? 0) > 0
}

/** Whether a person holds the lock of the run's workspace. */
export function isLockedByPerson({ workspace }: Pick<RunDocument, 'workspace'>) {
  return workspace?.attributes.locked === true && workspace.relationships['locked-by'].data?.type !== 'runs'
}

/** What others than the reader have to do, so that the run goes on; undefined when nobody has to. */
export function needsOthers(document: RunDocument): 'approve' | 'unlock' | undefined {
  const { actions, permissions, status } = document.run.attributes
  if (actions['is-confirmable'] && !permissions['can-apply']) return 'approve'
  const mayUnlock = document.workspace?.attributes.permissions['can-force-unlock'] === true
  return status === 'pending' && isLockedByPerson(document) && !mayUnlock ? 'unlock' : undefined
}

/** What the run waits for or has come to, who can help it on, and what then happens: a sentence or two. */
export function situation({ run, workspace, plan, stages }: RunDocument): string {
  const { attributes } = run
  const { permissions, actions, status } = attributes
  const name = workspace?.attributes.name ?? 'the workspace'
  if (isCanceling(run)) return 'The run is being canceled: the engine ends what it has begun and stores the state.'
  if (isOutdated(run)) {
    return 'The state has moved on since this plan was made, so it can not be applied any more. Make a new plan.'
  }
  if (actions['is-confirmable']) {
    const who = permissions['can-apply']
      ? 'Look at the changes, then apply them or discard the run.'
      : `Waits for the approval of somebody who may apply runs in ${name}.`
    return status === 'planned_and_saved'
      ? `The plan is kept until the state changes, and holds up no other run. ${who}`
      : who
  }
  if (stoppingStage(status, stages) !== undefined) {
    return 'A mandatory task stopped the run, and nobody can override it. Run again once the task passes; who manages the run tasks of the workspace can make it advisory.'
  }
  if (stages.some(stops) && !isEnded(status)) return 'A mandatory task has failed: the run stops in a moment.'
  const { summary } = RUN_STATUS_TABLE[status]
  if (summary !== undefined) return summary
  if (status === 'planned_and_finished') {
    if (!attributes['plan-only']) return 'What the configuration says is what there is: there is nothing to apply.'
    return 'The run was for its plan only: it can not be applied.'
  }
  return `${ahead(run, stages)} ${after(run, plan)}`.trim()
}

function ahead({ attributes: { status } }: RunDocument['run'], stages: readonly TaskStage[]) {
  if (status === 'pending') return 'The run waits for its turn in the workspace.'
  if (RUN_STATUS_TABLE[status].awaits === 'agent') return 'The run waits for an agent.'
  const open = stages.find((stage) => stage.attributes.status === 'running')
  if (open) {
    const isMandatory = open.results.some(
      ({ attributes }) => attributes['workspace-task-enforcement-level'] === 'mandatory',
    )
    const mayStop = isMandatory && open.attributes.stage !== 'post_apply'
    return mayStop
      ? 'Run tasks are asked: a mandatory one that fails stops the run.'
      : 'Run tasks are asked: they can not stop the run.'
  }
  return status === 'applying' ? 'The changes are being made.' : 'The run is under way.'
}

function after({ attributes }: RunDocument['run'], plan: RunDocument['plan']) {
  const isApplied = attributes['status-timestamps']['confirmed-at'] !== undefined
  if (isApplied) return ''
  if (attributes['plan-only']) return 'It only plans.'
  if (attributes['auto-apply']) return 'It applies by itself when the plan and its mandatory tasks have succeeded.'
  return plan?.attributes.status === 'finished'
    ? 'Then it needs approval.'
    : 'It needs approval when the plan has changes.'
}
