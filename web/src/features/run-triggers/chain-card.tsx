import { CircleSlash, Clock, Zap } from 'lucide-react'
import { failureOf } from '../../api/queries.ts'
import { Card } from '../../components/card.tsx'
import { ErrorNote } from '../../components/feedback.tsx'
import { RunLink } from '../../components/links.tsx'
import { StatusText } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { type TriggerChain, useTriggerChain } from './run-triggers.ts'

const STATES = {
  waiting: { text: 'waiting', tone: 'warn', icon: Clock },
  fired: { text: 'started a run', tone: 'good', icon: Zap },
  skipped: { text: 'skipped', tone: 'quiet', icon: CircleSlash },
} as const

/** The triggers of the current run's chain, with reasons for those that started no run. */
export function ChainCard() {
  const { workspace } = useOpenWorkspace()
  const chain = useTriggerChain(workspace.relationships['current-run'].data?.id)
  const failure = failureOf(chain)
  if (failure)
    return (
      <Card title="Recent activity">
        <ErrorNote {...failure} />
      </Card>
    )
  if (!chain.data || chain.data.firings.length === 0) return null
  const { firings, truncated } = chain.data
  return (
    <Card title="Recent activity" about="The chain of triggered runs that includes the current run." isFlush>
      <ul className="divide-y divide-line border-t border-line">
        {firings.map((firing, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- skipped firings have no id
          <Firing key={`${firing['source-run-id']} ${index}`} firing={firing} chain={chain.data} />
        ))}
      </ul>
      {truncated && <p className="border-t border-line px-4 py-2 text-dim">Only part of the chain is shown.</p>}
    </Card>
  )
}

function Firing({ firing, chain }: { firing: TriggerChain['firings'][number]; chain: TriggerChain }) {
  const { text, tone, icon } = STATES[firing.status]
  const source = chain.runs.find(({ id }) => id === firing['source-run-id'])
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2">
      <span className="min-w-0 flex-1 basis-64">
        <MaybeRun id={firing['source-run-id']} workspace={source?.['workspace-name'] ?? null} /> →{' '}
        <MaybeRun id={firing['run-id']} workspace={firing['workspace-name']} />
        {firing.reason !== null && <span className="block text-dim">{firing.reason}</span>}
      </span>
      <StatusText tone={tone} icon={icon}>
        {text}
      </StatusText>
      <span className="text-dim">
        <RelativeTime at={firing['decided-at'] ?? firing['created-at']} />
      </span>
    </li>
  )
}

/** The workspace's name, linked to the run if the user may see it. */
function MaybeRun({ id, workspace }: { id: string | null; workspace: string | null }) {
  const { organization } = useOpenWorkspace()
  if (workspace === null) return 'a workspace you can’t see'
  return id === null ? (
    workspace
  ) : (
    <RunLink organization={organization} workspace={workspace} run={id} className="font-medium hover:underline">
      {workspace}
    </RunLink>
  )
}
