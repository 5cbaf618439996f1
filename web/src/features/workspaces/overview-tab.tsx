import { FactsCard } from './facts-card.tsx'
import { FirstRun } from './first-run.tsx'
import { LatestRunCard } from './latest-run-card.tsx'
import { OutputsCard } from './outputs-card.tsx'
import { ReadmeCard } from './readme-card.tsx'
import { ResourcesCard } from './resources-card.tsx'
import { useOpenWorkspace } from './workspace.ts'

/** What a workspace is, does and has, at first sight. */
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
