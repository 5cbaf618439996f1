import { CircleCheck, CircleHelp, CircleX, LoaderCircle, LogOut } from 'lucide-react'
import { type StatusStyle, StatusText } from '../../components/status.tsx'
import type { Agent, AgentPool } from './agent-pools.ts'

type Status = Agent['attributes']['status']

/** `about` explains the status. */
export const AGENT_STATUS_STYLE = {
  idle: { text: 'Idle', tone: 'good', icon: CircleCheck, about: 'waits for jobs' },
  busy: { text: 'Busy', tone: 'busy', icon: LoaderCircle, about: 'is running a job' },
  unknown: { text: 'Unknown', tone: 'warn', icon: CircleHelp, about: 'sent no heartbeat for a minute' },
  errored: { text: 'Errored', tone: 'bad', icon: CircleX, about: 'sent no heartbeat for two hours' },
  exited: { text: 'Exited', tone: 'quiet', icon: LogOut, about: 'has deregistered' },
} as const satisfies Record<Status, StatusStyle & { text: string; about: string }>

export function AgentStatusText({ status }: { status: Status }) {
  const { text, about, ...style } = AGENT_STATUS_STYLE[status]
  return (
    <span title={about}>
      <StatusText {...style} isBusy={status === 'busy'} text={text} />
    </span>
  )
}

/** "2 idle, 1 busy" of a pool. */
export function AgentCounts({ pool }: { pool: AgentPool }) {
  const counts = pool.attributes['agent-counts']
  const shown = (['idle', 'busy', 'unknown', 'errored'] as const).filter((status) => counts[status] > 0)
  if (shown.length === 0) return <span className="text-dim">no agents</span>
  return (
    <span className="flex flex-wrap gap-x-3 gap-y-0.5">
      {shown.map((status) => {
        const { text, tone, icon } = AGENT_STATUS_STYLE[status]
        return (
          <StatusText
            key={status}
            tone={tone}
            icon={icon}
            text={`${counts[status].toLocaleString('en')} ${text.toLowerCase()}`}
          />
        )
      })}
    </span>
  )
}
