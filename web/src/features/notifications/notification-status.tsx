import type { NotificationStatus as Status } from '@groundstate/contract/notification-configurations'
import { Notice } from '../../components/feedback.tsx'
import { Badge, OUTCOME_STYLE, StatusText } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import type { Configuration } from './notifications.ts'
import { TRIGGERS } from './triggers.ts'

/** The states of a notification in words. */
export const STATUS = {
  pending: { ...OUTCOME_STYLE.waiting, text: 'Pending' },
  delivered: { ...OUTCOME_STYLE.done, text: 'Delivered' },
  failed: { ...OUTCOME_STYLE.failed, text: 'Failed' },
  canceled: { ...OUTCOME_STYLE.stopped, text: 'Canceled' },
} as const satisfies Record<Status, object>

/** A pending notification whose last attempt failed is retried. */
export function NotificationStatus({ status, attempts }: { status: Status; attempts: number }) {
  if (status === 'pending' && attempts > 0) return <Badge {...OUTCOME_STYLE.warning} text="retrying" />
  return <Badge {...STATUS[status]} text={STATUS[status].text.toLowerCase()} />
}

/** "Reaches nobody", with the reason, if the configuration sends e-mail that nobody gets. */
export function NobodyText({ problem, className }: { problem: string | null; className?: string }) {
  if (problem === null) return null
  return <span className={className}>Reaches nobody: {problem.replace('nobody receives it: ', '')}.</span>
}

export function NobodyNotice({ configuration: { attributes } }: { configuration: Configuration }) {
  const problem = attributes['recipient-problem']
  if (problem === null) return null
  return (
    <Notice tone="warn">
      <NobodyText problem={problem} />
    </Notice>
  )
}

/** The latest notification of a configuration, for lists. */
export function LastNotification({ last }: { last: Configuration['attributes']['last-notification'] }) {
  if (!last) return <span className="text-dim">None yet</span>
  return (
    <>
      <StatusText {...STATUS[last.status]} />
      <span className="block text-dim">
        {TRIGGERS[last.trigger].text} · <RelativeTime at={last['created-at']} />
      </span>
    </>
  )
}
