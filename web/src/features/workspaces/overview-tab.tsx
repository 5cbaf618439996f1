import { useNavigate } from '@tanstack/react-router'
import { Play, Terminal } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { ConnectCli } from './connect-cli.tsx'
import { FactsCard } from './facts-card.tsx'
import { LatestRunCard } from './latest-run-card.tsx'
import { OutputsCard } from './outputs-card.tsx'
import { ReadmeCard } from './readme-card.tsx'
import { ResourcesCard } from './resources-card.tsx'
import { useOpenWorkspace } from './workspace.ts'

/** Overview of a workspace. */
export function OverviewTab() {
  const { workspace } = useOpenWorkspace()
  const { permissions, 'resource-count': resources } = workspace.attributes
  const hasRun = workspace.relationships['latest-run'].data !== null
  const mayHaveState = hasRun || resources > 0 || workspace.relationships['current-state-version'].data !== null
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_23rem]">
      <div className="min-w-0 space-y-4">
        {hasRun ? <LatestRunCard /> : permissions['can-read-run'] && <FirstRun />}
        {mayHaveState && permissions['can-read-state-outputs'] && <OutputsCard workspaceId={workspace.id} />}
        {mayHaveState && permissions['can-read-state-versions'] && <ResourcesCard workspaceId={workspace.id} />}
        <ReadmeCard workspace={workspace} />
      </div>
      <FactsCard />
    </div>
  )
}

/** The way to a first run, for a workspace that has had none. */
export function FirstRun() {
  const { organization, workspace } = useOpenWorkspace()
  const navigate = useNavigate()
  const { name, permissions, 'execution-mode': mode } = workspace.attributes
  const isLocal = mode === 'local'
  const hasConfiguration = workspace.relationships['current-configuration-version'].data !== null
  const start = () => void navigate({ to: '.', search: (before) => ({ ...before, start: true }) })
  return (
    <EmptyState
      icon={Terminal}
      title="No runs yet"
      actions={
        permissions['can-queue-run'] &&
        hasConfiguration &&
        !isLocal && (
          <Button icon={Play} onClick={start}>
            New run
          </Button>
        )
      }
    >
      <ConnectCli organization={organization} workspace={name} isLocal={isLocal} />
    </EmptyState>
  )
}
