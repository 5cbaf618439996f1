import { getRouteApi, Link } from '@tanstack/react-router'
import type { Resource } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote, Loading, WaitingNote } from '../../components/feedback.tsx'
import { Ago } from '../../components/time.tsx'
import { Log } from './log.tsx'
import { RunStatus } from './run-status.tsx'
import { type PhaseAttributes, useRun, useRunAction } from './runs.ts'

const route = getRouteApi('/app/app/$organization/workspaces/$workspace/runs/$run')

export function RunPage() {
  const { organization, workspace, run: id } = route.useParams()
  const query = useRun(id)
  const action = useRunAction(id)
  if (query.isPending) return <Loading />
  if (query.error) return <ErrorNote error={query.error} />
  const { data: run, included = [] } = query.data
  const { attributes } = run
  const plan = included.find((item) => item.type === 'plans') as Resource<PhaseAttributes> | undefined
  const apply = included.find((item) => item.type === 'applies') as Resource<PhaseAttributes> | undefined

  return (
    <>
      <nav className="text-sm text-slate-500" aria-label="Breadcrumb">
        <Link to="/app/$organization/workspaces" params={{ organization }} className="hover:underline">
          {organization}
        </Link>
        {' / '}
        <Link
          to="/app/$organization/workspaces/$workspace"
          params={{ organization, workspace }}
          className="hover:underline"
        >
          {workspace}
        </Link>
      </nav>
      <div className="mt-2 flex flex-wrap items-center gap-3">
        <h1 className="text-xl font-semibold tracking-tight">{attributes.message ?? run.id}</h1>
        <RunStatus status={attributes.status} />
      </div>
      <p className="mt-1 text-sm text-slate-500">
        {run.id} · started <Ago at={attributes['created-at']} />
      </p>
      {attributes['waiting-reason'] && <WaitingNote>Waiting: {attributes['waiting-reason']}</WaitingNote>}
      <div className="mt-4 flex gap-2">
        {attributes.actions['is-confirmable'] && (
          <Button kind="primary" disabled={action.isPending} onClick={() => action.mutate('apply')}>
            Apply
          </Button>
        )}
        {attributes.actions['is-discardable'] && (
          <Button disabled={action.isPending} onClick={() => action.mutate('discard')}>
            Discard
          </Button>
        )}
        {attributes.actions['is-cancelable'] && (
          <Button kind="danger" disabled={action.isPending} onClick={() => action.mutate('cancel')}>
            Cancel
          </Button>
        )}
        {attributes.actions['is-force-cancelable'] && (
          <Button kind="danger" disabled={action.isPending} onClick={() => action.mutate('force-cancel')}>
            Force cancel
          </Button>
        )}
      </div>
      {action.error && <ErrorNote error={action.error} />}
      <Phase title="Plan" phase={plan} />
      <Phase title="Apply" phase={apply} />
    </>
  )
}

const UNSTARTED = new Set(['pending', 'created'])

function Phase({ title, phase }: { title: string; phase: Resource<PhaseAttributes> | undefined }) {
  if (!phase || UNSTARTED.has(phase.attributes.status)) return null
  const { attributes } = phase
  const counts = [attributes['resource-additions'], attributes['resource-changes'], attributes['resource-destructions']]
  return (
    <section className="mt-8">
      <h2 className="mb-3 flex items-center gap-3 font-medium">
        {title} <RunStatus status={attributes.status} />
        {counts.every((count) => count !== null) && (
          <span className="text-sm font-normal text-slate-500">
            {counts[0]} to add, {counts[1]} to change, {counts[2]} to destroy
          </span>
        )}
      </h2>
      {attributes['log-read-url'] && <Log url={attributes['log-read-url']} />}
    </section>
  )
}
