import { isEnded } from '@groundstate/contract/run-status'
import { STAGE_TITLES } from './run-words.ts'
import type { Plan, Run, TaskResult, TaskStage } from './run.ts'

export type StepState =
  | 'ahead'
  | 'waiting'
  | 'running'
  | 'needed'
  | 'done'
  | 'warned'
  | 'failed'
  | 'stopped'
  | 'skipped'

/** One step of the way that a run takes. */
export type Step = {
  id: string
  title: string
  state: StepState
  /** The state in a word or two. */
  text: string
  from?: string | undefined
  /** Undefined while it lasts. */
  to?: string | undefined
  /** The part of the page that has more about it. */
  part: 'changes' | 'log' | 'tasks' | 'timeline'
  phase?: 'plan' | 'apply'
}

/** What plans and applies share. */
type Phase = { attributes: Pick<Plan['attributes'], 'status' | 'status-timestamps'> }
type Facts = {
  run: Pick<Run, 'attributes' | 'relationships'>
  plan: Phase | undefined
  apply: Phase | undefined
  stages: readonly TaskStage[]
}

/** The way of a run from its queue to the tasks after its apply, without the steps that it can't have. */
export function stepsOf({ run, plan, apply, stages }: Facts): Step[] {
  const isPlanOnly = run.attributes['plan-only']
  const tasks = (stage: TaskStage['attributes']['stage']) =>
    stages.filter(({ attributes }) => attributes.stage === stage).map(taskStep)
  return [
    queueStep(run.attributes),
    ...tasks('pre_plan'),
    phaseStep('plan', plan?.attributes),
    ...tasks('post_plan'),
    ...(isPlanOnly
      ? []
      : [approvalStep(run), ...tasks('pre_apply'), phaseStep('apply', apply?.attributes), ...tasks('post_apply')]),
  ]
}

/** The step that the reader should see first: the one that needs them or goes on, else the last that was reached. */
export function currentStep(steps: readonly Step[]): Step | undefined {
  return (
    steps.find(({ state }) => ['needed', 'running', 'waiting'].includes(state)) ??
    steps.findLast(({ state }) => !['ahead', 'skipped'].includes(state))
  )
}

function queueStep({ status, 'status-timestamps': times, 'created-at': from }: Run['attributes']): Step {
  const begun = times['fetching-at'] ?? times['plan-queued-at']
  const base = { id: 'queue', title: 'Queued', part: 'timeline', from } as const
  if (begun !== undefined) return { ...base, state: 'done', text: 'had its turn', to: begun }
  if (!isEnded(status)) return { ...base, state: 'waiting', text: 'waits for its turn' }
  const to = times['canceled-at'] ?? times['discarded-at'] ?? times['force-canceled-at'] ?? from
  return { ...base, state: 'stopped', text: status === 'discarded' ? 'discarded' : 'canceled', to }
}

const PHASE_STATES = {
  pending: 'ahead',
  queued: 'waiting',
  running: 'running',
  finished: 'done',
  errored: 'failed',
  canceled: 'stopped',
  unreachable: 'skipped',
} as const satisfies Record<Plan['attributes']['status'], StepState>
const PHASE_TEXTS = {
  ahead: 'not yet',
  waiting: 'waits for an agent',
  failed: 'errored',
  stopped: 'canceled',
  skipped: 'not reached',
} as const
const PHASES = {
  plan: { title: 'Plan', running: 'planning', done: 'planned' },
  apply: { title: 'Apply', running: 'applying', done: 'applied' },
} as const

function phaseStep(phase: 'plan' | 'apply', facts: Phase['attributes'] | undefined): Step {
  const { title, ...words } = PHASES[phase]
  const state = PHASE_STATES[facts?.status ?? 'pending']
  const times = facts?.['status-timestamps'] ?? {}
  const from = times['started-at'] ?? (state === 'waiting' ? times['queued-at'] : undefined)
  const texts = { ...PHASE_TEXTS, ...words }
  return {
    id: phase,
    title,
    state,
    text: texts[state],
    part: 'log',
    phase,
    from,
    to: from === undefined ? undefined : (times['finished-at'] ?? times['errored-at'] ?? times['canceled-at']),
  }
}

function approvalStep({ attributes, relationships }: Facts['run']): Step {
  const { status, actions, 'status-timestamps': times } = attributes
  const base = { id: 'approval', title: 'Approval', part: 'changes' } as const
  const from = times['planned-and-saved-at'] ?? times['post-plan-completed-at'] ?? times['planned-at']
  const confirmed = times['confirmed-at']
  if (confirmed !== undefined) {
    return relationships['confirmed-by'].data
      ? { ...base, state: 'done', text: 'approved', from, to: confirmed }
      : { ...base, state: 'done', text: 'automatic' }
  }
  if (status === 'planned_and_saved') {
    return actions['is-confirmable']
      ? { ...base, state: 'needed', text: 'plan saved', from }
      : { ...base, state: 'stopped', text: 'out of date' }
  }
  if (actions['is-confirmable']) return { ...base, state: 'needed', text: 'needs approval', from }
  if (status === 'post_plan_awaiting_decision') return { ...base, state: 'needed', text: 'needs a decision', from }
  if (status === 'discarded' && from !== undefined) {
    return { ...base, state: 'stopped', text: 'discarded', from, to: times['discarded-at'] }
  }
  if (status === 'planned_and_finished') return { ...base, state: 'skipped', text: 'nothing to apply' }
  if (isEnded(status)) return { ...base, state: 'skipped', text: 'not reached' }
  return { ...base, state: 'ahead', text: attributes['auto-apply'] ? 'automatic' : 'not yet' }
}

const TASK_STATES = {
  pending: { state: 'ahead', text: 'not yet' },
  running: { state: 'running', text: 'waiting for answers' },
  passed: { state: 'done', text: 'passed' },
  failed: { state: 'failed', text: 'failed' },
  awaiting_override: { state: 'needed', text: 'needs a decision' },
  errored: { state: 'failed', text: 'errored' },
  canceled: { state: 'stopped', text: 'canceled' },
  unreachable: { state: 'skipped', text: 'not reached' },
} as const satisfies Record<TaskStage['attributes']['status'], { state: StepState; text: string }>

function taskStep(stage: TaskStage): Step {
  const { status, 'status-timestamps': times } = stage.attributes
  const from = times['running-at']
  return {
    id: stage.id,
    title: STAGE_TITLES[stage.attributes.stage],
    ...stageState(stage),
    part: 'tasks',
    from,
    to: status === 'running' ? undefined : (times[`${status}-at`] ?? from),
  }
}

/** The state of a stage; one whose advisory tasks have failed has not simply passed. */
export function stageState({ attributes: { status }, results }: Pick<TaskStage, 'attributes' | 'results'>): {
  state: StepState
  text: string
} {
  const failures = results.filter(isAdvisoryFailure).length
  if (status !== 'passed' || failures === 0) return TASK_STATES[status]
  return { state: 'warned', text: failures === 1 ? '1 advisory failure' : `${failures} advisory failures` }
}

/** Whether a task has not passed and stops nothing. */
export function isAdvisoryFailure({ attributes }: Pick<TaskResult, 'attributes'>) {
  return (
    attributes['workspace-task-enforcement-level'] === 'advisory' &&
    ['failed', 'errored', 'unreachable'].includes(attributes.status)
  )
}
