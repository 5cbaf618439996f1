import { isEnded } from '@groundstate/contract/run-status'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { CopyButton } from '../../components/copy.tsx'
import { Notice } from '../../components/feedback.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime, Elapsed } from '../../components/time.tsx'
import { runEnd } from './run-end.ts'
import { RunAuthorName } from './run-origin.tsx'
import { RunStatus, runState } from './run-status.tsx'
import { moreOfMessage, runTitle } from './run-title.ts'
import { runOptions, SOURCES } from './run-words.ts'
import type { RunDocument } from './run.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs/$run')

/** The page of a run below its heading: what it is called, who started it from where, and how it differs from others. */
export function RunHeader({ document, children }: { document: RunDocument; children: ReactNode }) {
  const { workspace } = route.useParams()
  const { run } = document
  const { attributes } = run
  const rest = moreOfMessage(attributes.message)
  return (
    <>
      <DestroyBand document={document} />
      <Page
        title={runTitle({ id: run.id, message: attributes.message })}
        documentTitle={`${workspace} · run ${runState(attributes).text}`}
        beside={<RunStatus run={attributes} isBadge />}
        about={
          <>
            {rest !== '' && <p className="mb-1 whitespace-pre-line text-ink">{rest}</p>}
            <Origin document={document} />
            <Options run={run} />
          </>
        }
      >
        {children}
      </Page>
    </>
  )
}

/** A run that destroys looks like no other. */
function DestroyBand({ document: { run, plan } }: { document: RunDocument }) {
  const { workspace } = route.useParams()
  const { 'is-destroy': isDestroy, 'target-addrs': targets, status } = run.attributes
  const isOver = isEnded(status)
  if (isDestroy) {
    const what =
      targets.length === 0
        ? `everything that ${workspace} manages`
        : `${counted(targets.length, 'target')} of ${workspace}`
    return (
      <p className="-mt-1 mb-3 rounded-md bg-bad px-3 py-2 font-medium text-on-bad">
        {isOver ? `A destroy run, of ${what}.` : `This run destroys ${what}.`}
      </p>
    )
  }
  const count = plan?.attributes['resource-destructions'] ?? 0
  if (count === 0 || isOver) return null
  return (
    <div className="mb-3">
      <Notice tone="bad">{`The plan destroys or replaces ${counted(count, 'resource')}.`}</Notice>
    </div>
  )
}

function Origin({ document: { run, createdBy, triggers, plan, apply } }: { document: RunDocument }) {
  const { attributes } = run
  const details =
    (apply?.attributes ?? plan?.attributes)?.['execution-details'] ?? plan?.attributes['execution-details']
  return (
    <p className="flex flex-wrap items-center gap-x-4 gap-y-1">
      <span className="inline-flex flex-wrap items-center gap-x-1.5">
        <span className="font-medium text-ink">
          {triggers.length > 0 && !createdBy ? 'Started' : <RunAuthorName run={attributes} author={createdBy} />}
        </span>
        {triggers.length > 0 ? <Triggers triggers={triggers} /> : SOURCES[attributes.source]}
        {triggers.length === 0 &&
          attributes['triggering-source-name'] !== null &&
          ` of ${attributes['triggering-source-name']}`}
      </span>
      {/* The way to a page has no room for it on a phone. */}
      <span className="sm:hidden">
        in <WorkspaceLink />
      </span>
      <RelativeTime at={attributes['created-at']} />
      <span>
        {runEnd(attributes) === null ? 'for ' : 'took '}
        <Elapsed from={attributes['created-at']} to={runEnd(attributes)} />
      </span>
      <span>engine {attributes['engine-version']}</span>
      {details && (
        <>
          <span>
            {details.mode === 'agent'
              ? `agent ${details['agent-name'] ?? details['agent-id']} of ${details['agent-pool-name'] ?? 'a pool'}`
              : 'agent of this server'}
          </span>
        </>
      )}
      <span className="inline-flex items-center gap-1">
        <code>{run.id}</code>
        <CopyButton text={run.id} label="Copy the id of the run" />
      </span>
    </p>
  )
}

function WorkspaceLink() {
  const params = route.useParams()
  return (
    <Link to="/app/$organization/workspaces/$workspace" params={params} className="text-accent underline">
      {params.workspace}
    </Link>
  )
}

/** The runs that started this one. */
function Triggers({ triggers }: Pick<RunDocument, 'triggers'>) {
  const { organization } = route.useParams()
  return (
    <span>
      by{' '}
      {triggers.map(({ id, workspace }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Link
            to="/app/$organization/workspaces/$workspace/runs/$run"
            params={{ organization, workspace, run: id }}
            className="text-accent underline"
          >
            a run of {workspace}
          </Link>
        </span>
      ))}
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
            <Badge tone="busy" title={about}>
              {text}
            </Badge>
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
