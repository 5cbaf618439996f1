import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import { Link } from '@tanstack/react-router'
import { Notice } from '../../../components/feedback.tsx'
import { capitalized, counted } from '../../../components/numbers.ts'
import { Countdown, exactTime, useSeconds } from '../../../components/time.tsx'
import { useDiagnostics } from '../log/diagnostics.tsx'
import { useLog } from '../log/log-store.ts'
import { runRoute, TabLink } from '../run-navigation.tsx'
import { endReason, phasesNeverStarted, stoppingStage } from '../run-steps.tsx'
import { isGenericReason, STAGE_TITLES, textSegments } from '../run-text.ts'
import type { RunDocument } from '../run.ts'

/** A log that has grown within this time shows that the agent is alive, in ms. */
const SILENCE_MS = 15_000

/** Why the run is waiting, or why it ended early. */
export function RunNotice({ document }: { document: RunDocument }) {
  const { run, stages } = document
  const results = stages.flatMap((stage) => stage.results.map((result) => result.attributes))
  const pending = results.filter(({ status }) => status === 'running')
  if (pending.length > 0) {
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

function EndNotice({ document: { run, plan, apply, stages } }: { document: RunDocument }) {
  const { attributes } = run
  const errors = useDiagnostics(plan, apply).filter(({ severity }) => severity === 'error')
  const reason = endReason(attributes)
  if (reason === undefined) return null
  const stage = stoppingStage(attributes.status, stages)
  const skipped = phasesNeverStarted(plan?.attributes, apply?.attributes, attributes['plan-only'])
  const [first] = errors
  const isExplained = attributes.status === 'errored' && first !== undefined && isGenericReason(reason)
  return (
    <Notice tone={attributes.status === 'errored' ? 'bad' : 'info'}>
      {isExplained ? (
        <>
          The {first.phase} failed: {first.summary}
          {errors.length > 1 && `, and ${counted(errors.length - 1, 'more error')}`}
        </>
      ) : (
        <ServerText text={capitalized(reason)} />
      )}
      {skipped.length > 0 && `. ${capitalized(LIST_FORMAT.format(skipped))} never started`}.{' '}
      {isExplained && (
        <TabLink
          search={{ part: 'log', phase: first.phase, line: first.line + 1 }}
          className="whitespace-nowrap underline"
        >
          View in log
        </TabLink>
      )}
      {stage && <TasksLink text={STAGE_TITLES[stage]} />}
    </Notice>
  )
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
