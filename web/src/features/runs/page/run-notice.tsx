import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import { Link } from '@tanstack/react-router'
import { Notice } from '../../../components/feedback.tsx'
import { capitalized, counted } from '../../../components/numbers.ts'
import { Countdown, exactTime, useSeconds } from '../../../components/time.tsx'
import { useDiagnostics } from '../log/diagnostics.tsx'
import { useLog } from '../log/log-store.ts'
import { fetchingText } from '../run-commit.tsx'
import { stopOf } from '../run-events.ts'
import { runRoute, TabLink } from '../run-navigation.tsx'
import { runState } from '../run-status.tsx'
import { endReason, phasesNeverStarted, stoppingStage } from '../run-steps.tsx'
import { isGenericReason, STAGE_TITLES, textSegments } from '../run-text.ts'
import type { RunDocument } from '../run.ts'

/** A log that has grown within this time shows that the agent is alive, in ms. */
const SILENCE_MS = 15_000

/** Why the run is waiting, or why it ended early, and what it was planned without. */
export function RunNotice({ document }: { document: RunDocument }) {
  const withheld = document.events.find(({ attributes }) => attributes.action === 'secrets_withheld')
  return (
    <>
      {withheld && (
        <Notice tone="warn">{`${capitalized(withheld.attributes.description ?? 'planned without sensitive variables')}.`}</Notice>
      )}
      <StatusNotice document={document} />
    </>
  )
}

function StatusNotice({ document }: { document: RunDocument }) {
  const { run, stages } = document
  const results = stages.flatMap((stage) => stage.results.map((result) => result.attributes))
  const pending = results.filter(({ status }) => status === 'running')
  const policiesWait = stages.some(({ evaluations }) =>
    evaluations.some(({ attributes }) => attributes.status === 'running'),
  )
  // The reason names tasks and policies, but does not count down.
  if (pending.length > 0 && !policiesWait) {
    const [deadline] = pending.flatMap((result) => result['deadline-at'] ?? []).toSorted()
    return (
      <Notice tone="warn">
        Waiting for run {pending.length === 1 ? 'task' : 'tasks'}{' '}
        {LIST_FORMAT.format(pending.map((result) => result['task-name']))}
        {deadline !== undefined && [', ', <Countdown key="left" to={deadline} />, ' left']}.{' '}
        <TasksLink text="Show run tasks" />
      </Notice>
    )
  }
  if (run.attributes['waiting-reason'] !== null) {
    return <WaitingNotice document={document} reason={run.attributes['waiting-reason']} />
  }
  if (RUN_STATUS_TABLE[run.attributes.status].awaits === 'configuration')
    return <Notice>{fetchingText(document.commit)}</Notice>
  return <EndNotice document={document} />
}

function WaitingNotice({ document: { run, plan, apply }, reason }: { document: RunDocument; reason: string }) {
  const { awaits, phase } = RUN_STATUS_TABLE[run.attributes.status]
  const log = useLog(phase === 'apply' ? apply : plan)
  const now = useSeconds()
  // The agent misses heartbeats but still sends its log.
  if (awaits === 'result' && log && now - log.grownAt < SILENCE_MS) return null
  return (
    <Notice tone="warn">
      Waiting: <ServerText text={reason} />
    </Notice>
  )
}

/** "Canceled by ada: wrong account"; undefined unless a user stopped the run. */
function stopReason(document: RunDocument) {
  const stop = stopOf(document)
  if (!stop) return undefined
  const comment = stop.comment === undefined ? '' : `: ${stop.comment}`
  return `${capitalized(runState(document.run.attributes).text)} by ${stop.author}${comment}`
}

function EndNotice({ document }: { document: RunDocument }) {
  const { run, plan, apply, stages } = document
  const { attributes } = run
  const errors = useDiagnostics(plan, apply).filter(({ severity }) => severity === 'error')
  const applied = useAppliedText(document)
  const reason =
    attributes['error-message'] === null
      ? (stopReason(document) ?? endReason(attributes) ?? phaseFailure(document))
      : endReason(attributes)
  if (reason === undefined) return null
  const stage = stoppingStage(attributes.status, stages)
  const skipped = phasesNeverStarted(plan?.attributes, apply?.attributes, attributes['plan-only'])
  const [first] = errors
  const isErrored = attributes.status === 'errored'
  const isInLog = isErrored && isGenericReason(reason)
  const isExplained = isInLog && first !== undefined
  return (
    <Notice tone={isErrored ? 'bad' : 'info'}>
      {isExplained ? (
        <>
          The {first.phase} failed: {first.summary}
          {errors.length > 1 && `, and ${counted(errors.length - 1, 'more error')}`}
        </>
      ) : (
        <ServerText text={capitalized(reason)} />
      )}
      {applied !== undefined && `. ${applied}`}
      {skipped.length > 0 && `. ${capitalized(LIST_FORMAT.format(skipped))} never started`}.{' '}
      {isInLog && (
        <TabLink
          search={{ part: 'log', ...(first && { phase: first.phase, line: first.line + 1 }) }}
          className="whitespace-nowrap underline"
        >
          View in log
        </TabLink>
      )}
      {stage && <TasksLink text={STAGE_TITLES[stage]} />}
    </Notice>
  )
}

/** "the apply ended with an error", for a run without a message. */
function phaseFailure({ run, plan, apply }: RunDocument) {
  if (run.attributes.status !== 'errored') return undefined
  const phase = [apply, plan].find((own) => own?.attributes.status === 'errored')
  return phase && `the ${phase.type === 'applies' ? 'apply' : 'plan'} ended with an error`
}

/** "1 of 3 changes applied" after a failed apply, as far as its log says. A replacement is two changes. */
function useAppliedText({ plan, apply }: RunDocument) {
  const log = useLog(apply?.attributes.status === 'errored' ? apply : undefined)
  if (!log || !plan || log.state !== 'complete') return undefined
  const counts = ['resource-additions', 'resource-changes', 'resource-destructions'] as const
  const total = counts.reduce((sum, name) => sum + (plan.attributes[name] ?? 0), 0)
  const done = log.text
    .events()
    .filter(({ kind, action }) => kind === 'done' && ['create', 'update', 'destroy'].includes(action)).length
  return total > 0 ? `${done.toLocaleString('en')} of ${counted(total, 'change')} applied` : undefined
}

function TasksLink({ text }: { text: string }) {
  return (
    <TabLink search={{ part: 'tasks' }} className="whitespace-nowrap underline">
      {text}
    </TabLink>
  )
}

/** A server message with localised times and links to the runs it mentions. */
function ServerText({ text }: { text: string }) {
  const { organization } = runRoute.useParams()
  return textSegments(text).map(({ kind, text: part }) => {
    if (kind !== 'run') return kind === 'time' ? exactTime(part) : part
    return (
      <Link key={part} to="/app/$organization/runs/$run" params={{ organization, run: part }} className="underline">
        {part}
      </Link>
    )
  })
}

const LIST_FORMAT = new Intl.ListFormat('en-GB')
