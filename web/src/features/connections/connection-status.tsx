import { CircleCheck, CircleDashed, CircleX, Hourglass, Unplug } from 'lucide-react'
import { Badge, type StatusStyle, StatusText } from '../../components/status.tsx'
import { useNow } from '../../components/time.tsx'
import type { Connection } from './connections.ts'
import { PROVIDERS } from './providers.ts'

type Status = StatusStyle & { text: string }

const STATUSES: Readonly<Record<Connection['attributes']['status'], Status>> = {
  connected: { text: 'Connected', tone: 'good', icon: CircleCheck },
  failed: { text: 'Refused', tone: 'bad', icon: CircleX },
  pending: { text: 'Not connected', tone: 'warn', icon: CircleDashed },
}
const UNTESTED: Status = { text: 'Not tested', tone: 'quiet', icon: CircleDashed }
const UNREACHABLE: Status = { text: 'Unreachable', tone: 'warn', icon: Unplug }
const LIMITED: Status = { text: 'Limited by the host', tone: 'warn', icon: Hourglass }

/** Whether the host still limits the requests of the connection. */
export function useIsLimited({ attributes }: Connection) {
  const now = useNow()
  const until = attributes['blocked-until']
  return until !== null && new Date(until).getTime() > now
}

export function ConnectionStatus({ connection, isBadge = false }: { connection: Connection; isBadge?: boolean }) {
  const isLimited = useIsLimited(connection)
  const { status, 'status-message': message, 'affected-workspaces-count': uses } = connection.attributes
  // Without an API, only the repositories of workspaces show whether it works.
  const isUntested = uses === 0 && !PROVIDERS[connection.attributes['service-provider']].hasApi
  const works = isUntested ? UNTESTED : STATUSES.connected
  const connected = message !== null ? UNREACHABLE : isLimited ? LIMITED : works
  const style = status === 'connected' ? connected : STATUSES[status]
  return isBadge ? <Badge {...style} /> : <StatusText {...style} />
}
