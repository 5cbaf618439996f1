import type { configurationVersionSchema } from '@groundstate/contract/configuration-versions'
import type { Wire } from '@groundstate/contract/responses'
import { FINAL_STATUSES } from '@groundstate/contract/run-status'
import { Notice } from '../../../components/feedback.tsx'
import { counted } from '../../../components/numbers.ts'
import { RelativeTime } from '../../../components/time.tsx'
import { lockReason } from '../../workspaces/lock-words.ts'
import type { WorkspaceResource } from '../../workspaces/workspace.ts'
import { RunLink } from '../run-navigation.tsx'
import { runTitle } from '../run-text.ts'
import { type NewRunContext, useRunOfConfiguration } from './new-run-queries.ts'
import type { RunKind } from './new-run.ts'

type Configuration = Wire<typeof configurationVersionSchema>

const SOURCES = {
  'tfe-api': 'API',
  terraform: 'CLI',
  'terraform+cloud': 'CLI',
} as const satisfies Record<Configuration['attributes']['source'], string>

type ConfigurationProps = { workspace: WorkspaceResource; configuration: Configuration | undefined }

/** The configuration that the run will use: its origin, age and latest run. */
export function ConfigurationSummary({ workspace, configuration }: ConfigurationProps) {
  if (!configuration) return null
  const { id, attributes } = configuration
  return (
    <section aria-label="Configuration" className="rounded-md border border-line bg-ground px-3 py-2">
      <p>
        <span className="font-medium">Configuration</span> <code>{id}</code>
      </p>
      <p className="text-dim">
        uploaded via {SOURCES[attributes.source]} <RelativeTime at={attributes['created-at']} />
        <LatestRun workspace={workspace} versionId={id} />
      </p>
    </section>
  )
}

function LatestRun({ workspace, versionId }: { workspace: WorkspaceResource; versionId: string }) {
  const { data: run } = useRunOfConfiguration(versionId)
  if (!run) return null
  return (
    <>
      , last used{run.author !== undefined && ` by ${run.author}`} for{' '}
      <WorkspaceRunLink workspace={workspace} run={run} className="text-accent underline" />
    </>
  )
}

type WorkspaceRunLinkProps = {
  workspace: WorkspaceResource
  run: { id: string; message: string }
  className: string
}

function WorkspaceRunLink({ workspace: { attributes, relationships }, run, className }: WorkspaceRunLinkProps) {
  return (
    <RunLink
      organization={relationships.organization.data?.id ?? ''}
      workspace={attributes.name}
      run={run.id}
      className={className}
    >
      {runTitle(run)}
    </RunLink>
  )
}

export function DestroyNotice({
  workspace: { attributes },
  targetCount,
}: {
  workspace: WorkspaceResource
  targetCount: number
}) {
  const scope =
    targetCount > 0
      ? 'the selected targets and their dependents'
      : `all ${counted(attributes['resource-count'], 'resource')}`
  return (
    <Notice tone="bad">
      This run plans to destroy {scope} in {attributes.name}. Nothing is destroyed until a user approves the plan
      {attributes['auto-apply'] && ', even though auto-apply is enabled'}.
    </Notice>
  )
}

/** The runs that will block the new run. Plan-only runs are never blocked. */
export function QueueNotice({ context, kind }: { context: NewRunContext; kind: RunKind }) {
  const { workspace, currentRun, holder } = context
  if (kind === 'plan') return null
  if (holder && holder.kind !== 'run') {
    return <Notice tone="warn">The run will wait: the workspace is {lockReason(holder, workspace.attributes)}</Notice>
  }
  if (!currentRun || FINAL_STATUSES.includes(currentRun.attributes.status)) return null
  const run = { id: currentRun.id, message: currentRun.attributes.message }
  return (
    <Notice tone="warn">
      The run will be queued behind <WorkspaceRunLink workspace={workspace} run={run} className="underline" />
    </Notice>
  )
}
