import { getRouteApi } from '@tanstack/react-router'
import { Database } from 'lucide-react'
import { EmptyState } from '../../components/feedback.tsx'
import { usePageTitle } from '../../components/page.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { Comparison } from './comparison.tsx'
import { Timeline } from './timeline.tsx'
import { VersionPart } from './version-part.tsx'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/states')

/** Every state that the workspace had: their timeline, and beside it the one that is open, or what changed between two. */
export function StatesTab() {
  const { workspace } = useOpenWorkspace()
  const { version, from, to } = route.useSearch()
  const { name, permissions } = workspace.attributes
  usePageTitle(`${name} · states`)
  if (!permissions['can-read-state-versions']) {
    return (
      <EmptyState icon={Database} title="You may not read the states of this workspace">
        <p>A state holds secrets. Who administers the workspace can give your team the access to read its states.</p>
      </EmptyState>
    )
  }
  const open =
    version !== undefined ? (
      <VersionPart key={version} id={version} />
    ) : from !== undefined && to !== undefined ? (
      <Comparison from={from} to={to} />
    ) : undefined
  // The timeline stays the same one, so that a pin that was pressed keeps the focus.
  return (
    <div className={open ? 'grid gap-4 lg:grid-cols-[23rem_minmax(0,1fr)]' : ''}>
      <div className={open ? 'max-lg:hidden' : ''}>
        <Timeline isBeside={open !== undefined} />
      </div>
      {open && <div className="min-w-0">{open}</div>}
    </div>
  )
}
