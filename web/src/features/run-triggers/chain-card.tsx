import { Link } from '@tanstack/react-router'
import { CircleSlash, Clock, Zap } from 'lucide-react'
import { failureOf } from '../../api/queries.ts'
import { Card } from '../../components/card.tsx'
import { ErrorNote } from '../../components/feedback.tsx'
import { StatusText } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { type TriggerChain, useTriggerChain } from './run-triggers.ts'

const STATES = {
  waiting: { text: 'waits', tone: 'warn', icon: Clock },
  fired: { text: 'started a run', tone: 'good', icon: Zap },
  skipped: { text: 'skipped', tone: 'quiet', icon: CircleSlash },
} as const

/** Triggers fired around the workspace's latest run, and reasons for those that did not. Renders nothing without any. */
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
    <Card title="Recent activity" about="The chain of runs that the current run of this workspace belongs to." isFlush>
      <ul className="divide-y divide-line border-t border-line">
        {firings.map((firing, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- those that were skipped name nothing of their own
          <Firing key={`${firing['source-run-id']} ${index}`} firing={firing} chain={chain.data} />
        ))}
      </ul>
      {truncated && <p className="border-t border-line px-4 py-2 text-dim">The chain is longer than this.</p>}
    </Card>
  )
}

function Firing({ firing, chain }: { firing: TriggerChain['firings'][number]; chain: TriggerChain }) {
  const { text, tone, icon } = STATES[firing.status]
  const source = chain.runs.find(({ id }) => id === firing['source-run-id'])
  const to = firing['workspace-name'] ?? 'a workspace that you may not see'
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2">
      <span className="min-w-0 flex-1 basis-64">
        <RunLink id={firing['source-run-id']} workspace={source?.['workspace-name'] ?? null}>
          {source?.['workspace-name'] ?? 'a workspace that you may not see'}
        </RunLink>{' '}
        →{' '}
        <RunLink id={firing['run-id']} workspace={firing['workspace-name']}>
          {to}
        </RunLink>
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

/** The workspace's name, as a link to the run where there is one to see. */
function RunLink({ id, workspace, children }: { id: string | null; workspace: string | null; children: string }) {
  const { organization } = useOpenWorkspace()
  if (id === null || workspace === null) return children
  return (
    <Link
      to="/app/$organization/workspaces/$workspace/runs/$run"
      params={{ organization, workspace, run: id }}
      className="font-medium hover:underline"
    >
      {children}
    </Link>
  )
}
