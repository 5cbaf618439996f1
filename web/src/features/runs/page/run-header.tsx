import { isEnded } from '@groundstate/contract/run-status'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { CopyButton } from '../../../components/copy.tsx'
import { Notice } from '../../../components/feedback.tsx'
import { counted } from '../../../components/numbers.ts'
import { Page } from '../../../components/page.tsx'
import { Badge } from '../../../components/status.tsx'
import { RelativeTime, Countdown, Elapsed, exactTime } from '../../../components/time.tsx'
import { RunLink, TabLink, runRoute } from '../run-navigation.tsx'
import { RunAuthorName, originText } from '../run-origin.tsx'
import { RunStatus, runEndedAt, runState } from '../run-status.tsx'
import { endReason, phasesNeverStarted, stoppingStage } from '../run-steps.ts'
import { STAGE_TITLES, messageBody, runOptions, runTitle, textSegments } from '../run-text.ts'
import type { RunDocument } from '../run.ts'

/** The page of a run with its title, origin and options; `children` are the content below. */
export function RunHeader({ document, children }: { document: RunDocument; children: ReactNode }) {
  const { workspace } = runRoute.useParams()
  const { run } = document
  const { attributes } = run
  const body = messageBody(attributes.message)
  const about = (
    <>
      {body !== '' && <p className="mb-1 whitespace-pre-line text-ink">{body}</p>}
      <Origin document={document} />
      <Options run={run} />
    </>
  )
  return (
    <>
      <DestroyBanner document={document} />
      <Page
        title={runTitle({ id: run.id, message: attributes.message })}
        documentTitle={`${workspace} · run ${runState(attributes).text}`}
        badge={<RunStatus run={attributes} isBadge />}
        {...{ about, children }}
      />
    </>
  )
}

function DestroyBanner({ document: { run, plan } }: { document: RunDocument }) {
  const { workspace } = runRoute.useParams()
  const { 'is-destroy': isDestroy, 'target-addrs': targets, status } = run.attributes
  if (isDestroy) {
    const scope = targets.length === 0 ? 'all resources' : counted(targets.length, 'target')
    return (
      <p className="-mt-1 mb-3 rounded-md bg-bad px-3 py-2 font-medium text-on-bad">
        {isEnded(status) ? `Destroy run: ${scope} in ${workspace}.` : `This run destroys ${scope} in ${workspace}.`}
      </p>
    )
  }
  const count = plan?.attributes['resource-destructions'] ?? 0
  if (count === 0 || isEnded(status)) return null
  return (
    <div className="mb-3">
      <Notice tone="bad">{`The plan destroys or replaces ${counted(count, 'resource')}.`}</Notice>
    </div>
  )
}

function Origin({ document: { run, createdBy, triggers, plan, apply } }: { document: RunDocument }) {
  const { attributes } = run
  const endedAt = runEndedAt(attributes)
  const execution = apply?.attributes['execution-details'] ?? plan?.attributes['execution-details']
  const hasAuthor = triggers.length === 0 || createdBy !== undefined
  const agent = execution?.['agent-name'] ?? execution?.['agent-id']
  const params = runRoute.useParams()
  return (
    <p className="flex flex-wrap items-center gap-x-4 gap-y-1">
      <span className="inline-flex flex-wrap items-center gap-x-1.5">
        {hasAuthor && (
          <span className="font-medium text-ink">
            <RunAuthorName run={attributes} author={createdBy} />
          </span>
        )}
        {triggers.length === 0 ? (
          `via ${originText(attributes)}`
        ) : (
          <Triggers triggers={triggers} text={hasAuthor ? 'triggered by' : 'Triggered by'} />
        )}
      </span>
      {/* On a phone the breadcrumbs omit the workspace. */}
      <span className="sm:hidden">
        in{' '}
        <Link to="/app/$organization/workspaces/$workspace" params={params} className="text-accent underline">
          {params.workspace}
        </Link>
      </span>
      <RelativeTime at={attributes['created-at']} />
      <span>
        {endedAt === null ? 'for ' : 'took '}
        <Elapsed from={attributes['created-at']} to={endedAt} />
      </span>
      <span>engine {attributes['engine-version']}</span>
      {execution && (
        <span>
          {execution.mode === 'agent'
            ? `agent ${agent} in ${execution['agent-pool-name'] ?? 'a pool'}`
            : 'built-in agent'}
        </span>
      )}
      <span className="inline-flex items-center gap-1">
        <code>{run.id}</code>
        <CopyButton text={run.id} label="Copy run ID" />
      </span>
    </p>
  )
}

function Triggers({ triggers, text }: Pick<RunDocument, 'triggers'> & { text: string }) {
  return (
    <span>
      {text}{' '}
      {triggers.map(({ id, workspace }, index) => [
        index > 0 && ', ',
        <RunLink key={id} workspace={workspace} run={{ id }} className="text-accent underline">
          a run of {workspace}
        </RunLink>,
      ])}
    </span>
  )
}

function Options({ run }: { run: RunDocument['run'] }) {
  const options = runOptions(run.attributes)
  if (options.length === 0) return null
  return (
    <ul aria-label="Options" className="mt-2 flex flex-wrap items-start gap-1.5">
      {options.map(({ text, about, values }) => (
        <li key={text}>
          {values.length === 0 ? (
            <Badge tone="busy" title={about} text={text} />
          ) : (
            <details className="rounded-md bg-busy-soft px-1.5 py-0.5 text-xs text-busy">
              <summary className="font-medium">
                {text} ({values.length})
              </summary>
              <p className="mt-1 text-ink">{about}</p>
              <ul className="my-1 space-y-0.5 font-mono text-ink">
                {values.map((value) => (
                  <li key={value}>{value}</li>
                ))}
              </ul>
            </details>
          )}
        </li>
      ))}
    </ul>
  )
}

/** Why the run is waiting, or why it ended early. */
export function RunNotice({ document: { run, plan, apply, stages } }: { document: RunDocument }) {
  const { attributes } = run
  const results = stages.flatMap((stage) => stage.results.map((result) => result.attributes))
  const pending = results.filter(({ status }) => status === 'running')
  if (pending.length > 0) {
    const [deadline] = pending.flatMap((result) => result['deadline-at'] ?? []).toSorted()
    return (
      <Notice tone="warn">
        Waiting for run {pending.length === 1 ? 'task' : 'tasks'} {listed(pending.map((result) => result['task-name']))}
        {deadline !== undefined && [', ', <Countdown key="left" to={deadline} />, ' left']}.{' '}
        <TasksLink text="Show run tasks" />
      </Notice>
    )
  }
  if (attributes['waiting-reason'] !== null) {
    return (
      <Notice tone="warn">
        Waiting: <ServerText text={attributes['waiting-reason']} />
      </Notice>
    )
  }
  const reason = endReason(attributes)
  if (reason === undefined) return null
  const stage = stoppingStage(attributes.status, stages)
  const skipped = phasesNeverStarted(plan?.attributes, apply?.attributes, attributes['plan-only'])
  return (
    <Notice tone={attributes.status === 'errored' ? 'bad' : 'info'}>
      <ServerText text={capitalized(reason)} />
      {skipped.length > 0 && `. ${capitalized(listed(skipped))} never started`}.{' '}
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

function capitalized(text: string) {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function listed(words: readonly string[]) {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
