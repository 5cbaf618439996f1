import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Badge, EmptyState, ErrorNote, Loading, WaitingNote } from '../../components/feedback.tsx'
import { Pages } from '../../components/pages.tsx'
import { Ago } from '../../components/time.tsx'
import { RunStatus } from '../runs/run-status.tsx'
import { useRuns } from '../runs/runs.ts'
import { resourceCount, useWorkspace } from './workspaces.ts'

const route = getRouteApi('/app/app/$organization/workspaces/$workspace')

export function WorkspacePage() {
  const { organization, workspace: name } = route.useParams()
  const [page, setPage] = useState(1)
  const workspace = useWorkspace(organization, name)
  const runs = useRuns(workspace.data?.data.id, page)
  if (workspace.isPending) return <Loading />
  if (workspace.error) return <ErrorNote error={workspace.error} />
  const { attributes } = workspace.data.data

  return (
    <>
      <nav className="text-sm text-slate-500" aria-label="Breadcrumb">
        <Link to="/app/$organization/workspaces" params={{ organization }} className="hover:underline">
          {organization}
        </Link>
      </nav>
      <div className="mt-2 flex flex-wrap items-center gap-3">
        <h1 className="min-w-0 text-xl font-semibold tracking-tight">{attributes.name}</h1>
        {attributes.locked && <Badge tone="waiting">locked</Badge>}
      </div>
      <p className="mt-1 text-sm text-slate-500">
        {attributes['execution-mode']} execution · version {attributes['terraform-version']} ·{' '}
        {resourceCount(attributes)}
      </p>
      {attributes['waiting-reason'] && <WaitingNote>{attributes['waiting-reason']}</WaitingNote>}
      {attributes.description && <p className="mt-3 text-sm">{attributes.description}</p>}
      <h2 className="mt-8 mb-3 font-medium">Runs</h2>
      {runs.isPending && <Loading />}
      {runs.error && <ErrorNote error={runs.error} />}
      {runs.data?.data.length === 0 && (
        <EmptyState title="No runs yet">
          <code>terraform plan</code> in a configuration of this workspace starts one.
        </EmptyState>
      )}
      <ul className="divide-y divide-slate-200 rounded-lg border border-slate-200 bg-white empty:hidden dark:divide-slate-800 dark:border-slate-800 dark:bg-slate-900">
        {runs.data?.data.map((run) => (
          <li key={run.id}>
            <Link
              to="/app/$organization/workspaces/$workspace/runs/$run"
              params={{ organization, workspace: name, run: run.id }}
              className="flex flex-wrap items-center gap-x-3 gap-y-1 px-5 py-3 hover:bg-slate-50 dark:hover:bg-slate-800"
            >
              <span className="line-clamp-2 min-w-0">{run.attributes.message ?? run.id}</span>
              {run.attributes['plan-only'] && <Badge tone="quiet">plan only</Badge>}
              {run.attributes['is-destroy'] && <Badge tone="bad">destroy</Badge>}
              <span className="ml-auto text-sm whitespace-nowrap text-slate-500">
                <Ago at={run.attributes['created-at']} />
              </span>
              <RunStatus status={run.attributes.status} />
            </Link>
          </li>
        ))}
      </ul>
      <Pages pagination={runs.data?.meta?.pagination} onPage={setPage} />
    </>
  )
}
