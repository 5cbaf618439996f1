import { RUN_STATUS_TABLE, isEnded, hasPhaseEnded } from '@groundstate/contract/run-status'
import type { Stage } from '@groundstate/contract/run-tasks'
import { Check, Circle, CircleMinus, Clock, Hand } from 'lucide-react'
import { counted } from '../../components/numbers.ts'
import { OUTCOME_STYLE, type StatusStyle, TONE_TEXT } from '../../components/status.tsx'
import { Elapsed } from '../../components/time.tsx'
import { type PhaseName, type RunTab, TabLink } from './run-navigation.tsx'
import { STAGE_TITLES } from './run-text.ts'
import type { Plan, Run, TaskResult, TaskStage } from './run.ts'

export const STEP_STYLE = {
  ...OUTCOME_STYLE,
  pending: { tone: 'quiet', icon: Circle },
  waiting: { tone: 'warn', icon: Clock },
  attention: { tone: 'accent', icon: Hand },
  done: { tone: 'good', icon: Check },
  skipped: { tone: 'quiet', icon: CircleMinus },
} as const satisfies Record<string, StatusStyle>
export type StepState = keyof typeof STEP_STYLE

type Step = {
  id: string
  title: string
  state: StepState
  text: string
  from?: string | undefined
  to?: string | undefined
  part: RunTab
  phase?: PhaseName
}

type PhaseTimes = Pick<Plan['attributes'], 'status' | 'status-timestamps'>
type Phase = { attributes: PhaseTimes } | undefined
type RunFields = Pick<Run, 'attributes' | 'relationships'>
type RunParts = { run: RunFields; plan: Phase; apply: Phase; stages: readonly TaskStage[] }

/** The steps of a run from the queue to its post-apply tasks; a plan-only run has none after its plan. */
export function runSteps({ run, plan, apply, stages }: RunParts): Step[] {
  const tasks = (stage: Stage) => stages.filter(({ attributes }) => attributes.stage === stage).map(taskStep)
  const planSteps = [
    queueStep(run.attributes),
    ...tasks('pre_plan'),
    phaseStep('plan', plan?.attributes),
    ...tasks('post_plan'),
  ]
  if (run.attributes['plan-only']) return planSteps
  return [
    ...planSteps,
    approvalStep(run),
    ...tasks('pre_apply'),
    phaseStep('apply', apply?.attributes),
    ...tasks('post_apply'),
  ]
}

/** The step that needs attention or is in progress, else the last one that was reached. */
export function currentStep(steps: readonly Step[]): Step | undefined {
  return (
    steps.find(({ state }) => ['attention', 'running', 'waiting'].includes(state)) ??
    steps.findLast(({ state }) => !['pending', 'skipped'].includes(state))
  )
}

function queueStep({ status, 'status-timestamps': times, 'created-at': from }: Run['attributes']): Step {
  const base = { id: 'queue', title: 'Queued', part: 'timeline', from } as const
  const dequeuedAt = times['fetching-at'] ?? times['plan-queued-at']
  if (dequeuedAt !== undefined) return { ...base, state: 'done', text: 'left the queue', to: dequeuedAt }
  if (!isEnded(status)) return { ...base, state: 'waiting', text: 'in the queue' }
  const to = times['canceled-at'] ?? times['discarded-at'] ?? times['force-canceled-at'] ?? from
  return { ...base, state: 'stopped', text: status === 'discarded' ? 'discarded' : 'canceled', to }
}

const PHASE_STATES = {
  pending: 'pending',
  queued: 'waiting',
  running: 'running',
  finished: 'done',
  errored: 'failed',
  canceled: 'stopped',
  unreachable: 'skipped',
} as const satisfies Record<Plan['attributes']['status'], StepState>
const PHASE_TEXTS = {
  pending: 'pending',
  waiting: 'waiting for agent',
  failed: 'errored',
  stopped: 'canceled',
  skipped: 'not reached',
} as const
const PHASES = {
  plan: { title: 'Plan', running: 'planning', done: 'planned' },
  apply: { title: 'Apply', running: 'applying', done: 'applied' },
} as const

function phaseStep(phase: PhaseName, attributes: PhaseTimes | undefined): Step {
  const { title, ...texts } = PHASES[phase]
  const state = PHASE_STATES[attributes?.status ?? 'pending']
  const times = attributes?.['status-timestamps'] ?? {}
  const from = times['started-at'] ?? (state === 'waiting' ? times['queued-at'] : undefined)
  const to = from === undefined ? undefined : (times['finished-at'] ?? times['errored-at'] ?? times['canceled-at'])
  return { id: phase, title, state, text: { ...PHASE_TEXTS, ...texts }[state], part: 'log', phase, from, to }
}

function approvalStep({ attributes, relationships }: RunFields): Step {
  const { status, actions, 'status-timestamps': times } = attributes
  const base = { id: 'approval', title: 'Approval', part: 'changes' } as const
  const from = times['planned-and-saved-at'] ?? times['post-plan-completed-at'] ?? times['planned-at']
  const confirmed = times['confirmed-at']
  if (confirmed !== undefined) {
    return relationships['confirmed-by'].data
      ? { ...base, state: 'done', text: 'approved', from, to: confirmed }
      : { ...base, state: 'done', text: 'auto-applied' }
  }
  if (status === 'planned_and_saved') {
    return actions['is-confirmable']
      ? { ...base, state: 'attention', text: 'plan saved', from }
      : { ...base, state: 'stopped', text: 'stale' }
  }
  if (actions['is-confirmable']) return { ...base, state: 'attention', text: 'needs approval', from }
  if (status === 'post_plan_awaiting_decision') return { ...base, state: 'attention', text: 'needs a decision', from }
  if (status === 'discarded' && from !== undefined) {
    return { ...base, state: 'stopped', text: 'discarded', from, to: times['discarded-at'] }
  }
  if (status === 'planned_and_finished') return { ...base, state: 'skipped', text: 'nothing to apply' }
  if (isEnded(status)) return { ...base, state: 'skipped', text: 'not reached' }
  return { ...base, state: 'pending', text: attributes['auto-apply'] ? 'auto-apply' : 'pending' }
}

const TASK_STATES = {
  pending: { state: 'pending', text: 'pending' },
  running: { state: 'running', text: 'waiting for results' },
  passed: { state: 'done', text: 'passed' },
  failed: { state: 'failed', text: 'failed' },
  awaiting_override: { state: 'attention', text: 'needs a decision' },
  errored: { state: 'failed', text: 'errored' },
  canceled: { state: 'stopped', text: 'canceled' },
  unreachable: { state: 'skipped', text: 'not reached' },
} as const satisfies Record<TaskStage['attributes']['status'], { state: StepState; text: string }>

function taskStep(stage: TaskStage): Step {
  const { status, 'status-timestamps': times } = stage.attributes
  const from = times['running-at']
  const to = status === 'running' ? undefined : (times[`${status}-at`] ?? from)
  return { id: stage.id, title: STAGE_TITLES[stage.attributes.stage], ...stageState(stage), part: 'tasks', from, to }
}

/** The state of a task stage; "1 advisory failure" if it passed despite one. */
export function stageState({
  attributes: { status },
  results,
  evaluations,
}: Pick<TaskStage, 'attributes' | 'results' | 'evaluations'>): {
  state: StepState
  text: string
} {
  if (status !== 'passed') return TASK_STATES[status]
  const isOverridden = evaluations.some(({ attributes }) => attributes.status === 'overridden')
  if (isOverridden) return { state: 'warning', text: 'policies overridden' }
  const advisory = evaluations.reduce((sum, { attributes }) => sum + attributes['result-count']['advisory-failed'], 0)
  const failures = results.filter(isAdvisoryFailure).length + advisory
  if (failures > 0) return { state: 'warning', text: counted(failures, 'advisory failure') }
  const findings = findingsText(results)
  return findings === undefined ? TASK_STATES.passed : { state: 'warning', text: `passed · ${findings}` }
}

type Results = readonly Pick<TaskResult, 'attributes'>[]

/** The number of outcomes at a level of their tags. */
function outcomeCount(results: Results, level: 'error' | 'warning') {
  return results.reduce((sum, { attributes }) => sum + attributes['outcome-levels'][level], 0)
}

/** The outcomes of tasks that deserve attention: "2 errors, 1 warning"; undefined if there are none. */
export function findingsText(results: Results): string | undefined {
  const [errors, warnings] = [outcomeCount(results, 'error'), outcomeCount(results, 'warning')]
  const texts = [errors > 0 && counted(errors, 'error'), warnings > 0 && counted(warnings, 'warning')]
  return texts.filter((text) => text !== false).join(', ') || undefined
}

type ResultStyle = StatusStyle & { text: string }

const RESULT_STYLE: Record<TaskResult['attributes']['status'], ResultStyle> = {
  pending: { ...OUTCOME_STYLE.waiting, text: 'pending' },
  running: { ...OUTCOME_STYLE.running, text: 'waiting for result' },
  passed: { ...OUTCOME_STYLE.done, text: 'passed' },
  failed: { ...OUTCOME_STYLE.failed, text: 'failed' },
  errored: { ...OUTCOME_STYLE.failed, text: 'errored' },
  canceled: { ...OUTCOME_STYLE.stopped, text: 'canceled' },
  unreachable: { ...OUTCOME_STYLE.failed, text: 'unreachable' },
}

/** The status of a task; one that passed is coloured by the most severe level of its outcomes. */
export function resultStyle(result: Pick<TaskResult, 'attributes'>): ResultStyle {
  const { status } = result.attributes
  const style = isAdvisoryFailure(result)
    ? { ...OUTCOME_STYLE.warning, text: `${RESULT_STYLE[status].text}, advisory` }
    : RESULT_STYLE[status]
  const findings = findingsText([result])
  if (findings === undefined) return style
  const text = `${style.text} · ${findings}`
  if (status !== 'passed') return { ...style, text }
  return { ...OUTCOME_STYLE.warning, tone: outcomeCount([result], 'error') > 0 ? 'bad' : 'warn', text }
}

export function isAdvisoryFailure({ attributes }: Pick<TaskResult, 'attributes'>) {
  return (
    attributes['workspace-task-enforcement-level'] === 'advisory' &&
    ['failed', 'errored', 'unreachable'].includes(attributes.status)
  )
}

export function stopsRun({ attributes: { stage, status } }: Pick<TaskStage, 'attributes'>) {
  return stage !== 'post_apply' && (status === 'failed' || status === 'errored')
}

export function stoppingStage(status: Run['attributes']['status'], stages: readonly TaskStage[]): Stage | undefined {
  return status === 'errored' ? stages.find(stopsRun)?.attributes.stage : undefined
}

/** The reason why a run ended early; undefined if it is in progress, was completed, or only the log has the reason. */
export function endReason(run: Pick<Run['attributes'], 'status' | 'error-message'>): string | undefined {
  if (!isEnded(run.status)) return undefined
  const { stopped } = RUN_STATUS_TABLE[run.status]
  return run['error-message'] ?? (stopped && `the run was ${stopped}`)
}

/** The phases that ended before an agent started them: "the plan", "the apply". */
export function phasesNeverStarted(plan: PhaseTimes | undefined, apply: PhaseTimes | undefined, isPlanOnly: boolean) {
  return [
    ...(plan && neverStarted(plan) ? ['the plan'] : []),
    ...(apply && neverStarted(apply) && !isPlanOnly ? ['the apply'] : []),
  ]
}

export function neverStarted(phase: PhaseTimes) {
  return hasPhaseEnded(phase.status) && phase['status-timestamps']['started-at'] === undefined
}

export function StageStrip({ steps }: { steps: readonly Step[] }) {
  const current = currentStep(steps)?.id
  return (
    <nav aria-label="Run stages" className="rounded-lg border border-line bg-paper">
      <ol className="relative flex overflow-x-auto p-1">
        {steps.map((step) => (
          <li key={step.id} ref={step.id === current ? scrollIntoStrip : null} className="flex-[1_0_auto]">
            <StepLink step={step} isCurrent={step.id === current} />
          </li>
        ))}
      </ol>
    </nav>
  )
}

/** Scrolls the strip to the item without scrolling the page. */
function scrollIntoStrip(item: HTMLElement | null) {
  if (item?.parentElement) item.parentElement.scrollLeft = item.offsetLeft - 16
}

function StepLink({ step, isCurrent }: { step: Step; isCurrent: boolean }) {
  const { title, state, text, from, to, part, phase } = step
  const { tone, icon: Icon } = STEP_STYLE[state]
  const isInactive = state === 'pending' || state === 'skipped'
  return (
    <TabLink
      search={{ part, phase }}
      hash={part === 'tasks' ? step.id : undefined}
      aria-current={isCurrent ? 'step' : undefined}
      className={`block h-full rounded-md px-2.5 py-1.5 no-underline hover:bg-hover ${isCurrent ? 'bg-hover' : ''}`}
    >
      <span
        className={`flex items-center gap-1.5 font-medium whitespace-nowrap ${isInactive ? 'text-dim' : 'text-ink'}`}
      >
        <Icon
          size={15}
          className={`shrink-0 ${TONE_TEXT[tone]} ${state === 'running' ? 'animate-spin [animation-duration:2s]' : ''}`}
        />
        {title}
      </span>
      <span className="mt-0.5 block pl-[21px] text-xs whitespace-nowrap text-dim">
        {text}
        {from !== undefined && !isInactive && [' · ', <Elapsed key="elapsed" from={from} to={to} />]}
      </span>
    </TabLink>
  )
}
