import type { configurationVersionSchema } from '@groundstate/contract/configuration-versions'
import type { Wire } from '@groundstate/contract/responses'
import { FINAL_STATUSES } from '@groundstate/contract/run-status'
import { Link } from '@tanstack/react-router'
import { Notice } from '../../components/feedback.tsx'
import { counted } from '../../components/numbers.ts'
import { RelativeTime } from '../../components/time.tsx'
import { lockReason } from '../workspaces/lock-words.ts'
import { runTitle } from './run-title.ts'
import { type StartableWorkspace, useRunOfConfiguration, type useStartFacts } from './start-run-queries.ts'
import type { RunKind } from './start-run.ts'

type Configuration = Wire<typeof configurationVersionSchema>

const UPLOADED_BY = {
  'tfe-api': 'the API',
  terraform: 'the command line',
  'terraform+cloud': 'the command line',
} as const satisfies Record<Configuration['attributes']['source'], string>

/** The configuration that a new run works with: which, since when, and who used it last. */
export function ConfigurationFacts({
  workspace,
  configuration,
}: {
  workspace: StartableWorkspace
  configuration: Configuration | undefined
}) {
  if (!configuration) return null
  const { id, attributes } = configuration
  return (
    <section aria-label="Configuration" className="rounded-md border border-line bg-ground px-3 py-2">
      <p>
        <span className="font-medium">Configuration</span> <code>{id}</code>
      </p>
      <p className="text-dim">
        uploaded by {UPLOADED_BY[attributes.source]} <RelativeTime at={attributes['created-at']} />
        <LastUse workspace={workspace} versionId={id} />
      </p>
    </section>
  )
}

function LastUse({ workspace, versionId }: { workspace: StartableWorkspace; versionId: string }) {
  const { data: run } = useRunOfConfiguration(versionId)
  if (!run) return null
  return (
    <>
      , last used{run.author !== undefined && ` by ${run.author}`} for{' '}
      <Link
        to="/app/$organization/workspaces/$workspace/runs/$run"
        params={{
          organization: workspace.relationships.organization.data?.id ?? '',
          workspace: workspace.attributes.name,
          run: run.id,
        }}
        className="text-accent underline"
      >
        {runTitle(run)}
      </Link>
    </>
  )
}

/** What a destruction means, before it is planned. */
export function DestroyNotice({
  workspace: { attributes },
  targets,
}: {
  workspace: StartableWorkspace
  targets: number
}) {
  const what =
    targets > 0
      ? `the chosen targets of ${attributes.name}, and what depends on them`
      : `all ${counted(attributes['resource-count'], 'resource')} of ${attributes.name}`
  return (
    <Notice tone="bad">
      This plans to destroy {what}. Nothing is destroyed yet: somebody sees the plan and approves it first
      {attributes['auto-apply'] && ', although the workspace applies by itself otherwise'}.
    </Notice>
  )
}

/** What holds the run back once it is started. Plan-only runs wait for nobody. */
export function WaitNotice({
  facts: { workspace, currentRun, holder },
  kind,
}: {
  facts: NonNullable<ReturnType<typeof useStartFacts>['data']>
  kind: RunKind
}) {
  if (kind === 'plan') return null
  const { attributes, relationships } = workspace
  if (holder && holder.kind !== 'run') {
    return <Notice tone="warn">The run will wait: the workspace is {lockReason(holder, attributes)}</Notice>
  }
  if (!currentRun || FINAL_STATUSES.includes(currentRun.attributes.status)) return null
  return (
    <Notice tone="warn">
      The run will wait for its turn behind{' '}
      <Link
        to="/app/$organization/workspaces/$workspace/runs/$run"
        params={{
          organization: relationships.organization.data?.id ?? '',
          workspace: attributes.name,
          run: currentRun.id,
        }}
        className="underline"
      >
        {runTitle({ id: currentRun.id, message: currentRun.attributes.message })}
      </Link>
    </Notice>
  )
}
