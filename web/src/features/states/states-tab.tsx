import { Database } from 'lucide-react'
import { CodeBlock } from '../../components/copy.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { usePageTitle } from '../../components/page.tsx'
import { ConnectCli } from '../workspaces/connect-cli.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { Comparison } from './comparison.tsx'
import { statesRoute } from './navigation.tsx'
import { Timeline } from './timeline.tsx'
import { VersionView } from './version-view.tsx'

/** The timeline of a workspace's states, next to a state version or a comparison if one is open. */
export function StatesTab() {
  const { workspace } = useOpenWorkspace()
  const { version, from, to } = statesRoute.useSearch()
  const { name, permissions } = workspace.attributes
  usePageTitle(`${name} · states`)
  if (!permissions['can-read-state-versions']) {
    return (
      <EmptyState icon={Database} title="You do not have access to the states of this workspace">
        <p>States contain secrets. A workspace administrator can grant your team access to them.</p>
      </EmptyState>
    )
  }
  const open =
    version !== undefined ? (
      <VersionView key={version} id={version} />
    ) : from !== undefined && to !== undefined ? (
      <Comparison from={from} to={to} />
    ) : undefined
  // The timeline stays mounted, so that a pin that was clicked keeps the focus.
  return (
    <div className={open ? 'grid gap-4 lg:grid-cols-[23rem_minmax(0,1fr)]' : ''}>
      <div className={open ? 'max-lg:hidden' : ''}>
        <Timeline isCompact={open !== undefined} empty={<NoStates />} />
      </div>
      {open && <div className="min-w-0">{open}</div>}
    </div>
  )
}

function NoStates() {
  const { organization, workspace } = useOpenWorkspace()
  const { name, 'execution-mode': mode } = workspace.attributes
  return (
    <EmptyState icon={Database} title="No states yet">
      <p>The first apply stores a state. All versions are kept.</p>
      <div className="space-y-4 text-left">
        <ConnectCli organization={organization} workspace={name} isLocal={mode === 'local'} />
        <p>
          To migrate a state from a local file or another backend, add the block and run <code>terraform init</code>. To
          upload any other state file:
        </p>
        <CodeBlock label="Upload command" code="terraform state push terraform.tfstate" />
      </div>
    </EmptyState>
  )
}
