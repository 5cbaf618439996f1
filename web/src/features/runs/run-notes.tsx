import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Notice } from '../../components/feedback.tsx'
import { exactTime } from '../../components/time.tsx'
import { Countdown } from './countdown.tsx'
import { chunksOf, STAGE_TITLES } from './run-words.ts'
import type { RunDocument } from './run.ts'
import { neverBegun, stoppingStage, whyEnded } from './why-ended.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs/$run')

/** Why the run waits, or why it ended before all was done. */
export function RunNotes({ document }: { document: RunDocument }) {
  const { run, plan, apply, stages } = document
  const { attributes } = run
  const open = stages.flatMap(({ results }) => results).filter((result) => result.attributes.status === 'running')
  const [soonest] = open
    .map((result) => result.attributes['deadline-at'])
    .filter((at) => at !== null)
    .toSorted()
  if (open.length > 0) {
    return (
      <Notice tone="warn">
        Waits for the response of {list(open.map((result) => result.attributes['task-name']))}
        {soonest !== undefined && (
          <>
            , <Countdown to={soonest} /> left
          </>
        )}
        . <ToPart part="tasks">What they were asked</ToPart>
      </Notice>
    )
  }
  if (attributes['waiting-reason'] !== null) {
    return (
      <Notice tone="warn">
        Waits: <ServerText text={attributes['waiting-reason']} />
      </Notice>
    )
  }
  const reason = whyEnded(attributes)
  if (reason === undefined) return null
  const stage = stoppingStage(attributes.status, stages)
  const missed = neverBegun(plan?.attributes, apply?.attributes, attributes['plan-only'])
  return (
    <Notice tone={attributes.status === 'errored' ? 'bad' : 'info'}>
      <ServerText text={capital(reason)} />
      {missed.length > 0 && `. ${capital(list(missed))} ${missed.length === 1 ? 'was' : 'were'} never begun`}.{' '}
      {stage && <ToPart part="tasks">{STAGE_TITLES[stage]}</ToPart>}
    </Notice>
  )
}

function ToPart({ part, children }: { part: string; children: ReactNode }) {
  return (
    <Link
      to="/app/$organization/workspaces/$workspace/runs/$run"
      params={route.useParams()}
      search={{ part }}
      resetScroll={false}
      className="whitespace-nowrap underline"
    >
      {children}
    </Link>
  )
}

/** A text of the server, with links to the runs that it names. */
function ServerText({ text }: { text: string }) {
  const { organization } = route.useParams()
  return chunksOf(text).map((chunk) => {
    if (chunk.kind === 'time') return <span key={chunk.text}>{exactTime(chunk.text)}</span>
    if (chunk.kind === 'text') return <span key={chunk.text}>{chunk.text}</span>
    return (
      <Link
        key={chunk.text}
        to="/app/$organization/runs/$run"
        params={{ organization, run: chunk.text }}
        className="underline"
      >
        {chunk.text}
      </Link>
    )
  })
}

function capital(text: string) {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function list(words: readonly string[]) {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
