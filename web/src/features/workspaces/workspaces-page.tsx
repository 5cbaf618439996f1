import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Badge, EmptyState, ErrorNote, Loading } from '../../components/feedback.tsx'
import { TextField } from '../../components/form.tsx'
import { Pages } from '../../components/pages.tsx'
import { RunStatus } from '../runs/run-status.tsx'
import { resourceCount, useWorkspaces } from './workspaces.ts'

const route = getRouteApi('/app/app/$organization/workspaces')

export function WorkspacesPage() {
  const { organization } = route.useParams()
  const [search, setSearch] = useState('')
  const [page, setPage] = useState(1)
  const list = useWorkspaces(organization, search, page)
  const statuses = new Map(list.data?.included?.map((run) => [run.id, run.attributes.status]))

  return (
    <>
      <div className="flex flex-wrap items-end justify-between gap-4">
        <h1 className="text-xl font-semibold tracking-tight">Workspaces of {organization}</h1>
        <div className="w-64">
          <TextField
            label="Search by name"
            type="search"
            value={search}
            onChange={(event) => {
              setSearch(event.target.value)
              setPage(1)
            }}
          />
        </div>
      </div>
      <div className="mt-6">
        {list.isPending && <Loading />}
        {list.error && <ErrorNote error={list.error} />}
        {list.data?.data.length === 0 &&
          (search === '' ? (
            <EmptyState title="No workspaces yet">
              Run <code>terraform init</code> with a <code>cloud</code> block that names the organization {organization}
              : the workspace is made for you.
            </EmptyState>
          ) : (
            <EmptyState title={`No workspace has “${search}” in its name`}>Try a shorter search.</EmptyState>
          ))}
        <ul className="divide-y divide-slate-200 rounded-lg border border-slate-200 bg-white empty:hidden dark:divide-slate-800 dark:border-slate-800 dark:bg-slate-900">
          {list.data?.data.map((workspace) => {
            const current = workspace.relationships?.['current-run']?.data
            const status = current && !Array.isArray(current) ? statuses.get(current.id) : undefined
            return (
              <li key={workspace.id}>
                <Link
                  to="/app/$organization/workspaces/$workspace"
                  params={{ organization, workspace: workspace.attributes.name }}
                  className="flex flex-wrap items-center gap-x-3 gap-y-1 px-5 py-3 hover:bg-slate-50 dark:hover:bg-slate-800"
                >
                  <span className="min-w-0 font-medium">{workspace.attributes.name}</span>
                  {workspace.attributes.locked && <Badge tone="waiting">locked</Badge>}
                  {workspace.attributes['tag-names'].map((tag) => (
                    <Badge key={tag} tone="quiet">
                      {tag}
                    </Badge>
                  ))}
                  <span className="ml-auto text-sm text-slate-500">{resourceCount(workspace.attributes)}</span>
                  {status !== undefined && <RunStatus status={status} />}
                </Link>
              </li>
            )
          })}
        </ul>
        <Pages pagination={list.data?.meta?.pagination} onPage={setPage} />
      </div>
    </>
  )
}
