import type { Wire } from '@groundstate/contract/responses'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import { includedOf } from '../../api/queries.ts'
import type { WorkspaceDocument, WorkspaceResource } from './workspace.ts'

/** The holder of a lock. A deleted user, or a team not visible to the user, has no name. */
type LockHolder = { kind: 'user' | 'team' | 'run'; id: string; name: string }

const KINDS = { users: 'user', teams: 'team', runs: 'run' } as const

/** The lock holder of the workspace in a document; undefined when unlocked. */
export function lockHolder(document: WorkspaceDocument) {
  const { 'locked-by': holder } = document.data.relationships
  const included = includedOf(document)
  return holderOf(document.data, included.one('users', holder) ?? included.one('teams', holder))
}

type Locked = Pick<WorkspaceResource, 'attributes' | 'relationships'>
type Named = Wire<typeof userSchema> | Wire<typeof teamSchema>

/** The lock holder of a workspace; `named` is its included resource, unless it is a run. */
export function holderOf({ attributes, relationships }: Locked, named: Named | undefined): LockHolder | undefined {
  const holder = relationships['locked-by'].data
  if (!attributes.locked || !holder) return undefined
  const kind = KINDS[holder.type]
  const name = named?.type === 'users' ? named.attributes.username : named?.attributes.name
  return { kind, id: holder.id, name: name ?? (kind === 'run' ? holder.id : `another ${kind}`) }
}

export function holderText({ kind, name }: LockHolder) {
  return kind === 'team' ? `team ${name}` : name
}

/** "locked by ada since 12:04: maintenance", the reason why a button is disabled. */
export function lockReason(
  holder: LockHolder,
  { 'locked-at': at, 'locked-reason': reason }: { 'locked-at': string | null; 'locked-reason': string | null },
  now = new Date(),
) {
  const since = at === null ? '' : ` since ${timeText(new Date(at), now)}`
  return `locked by ${holderText(holder)}${since}${reason ? `: ${reason}` : ''}`
}

/** The local time, with the date unless it is today: "20 Nov, 12:04". */
function timeText(at: Date, now: Date) {
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  if (at.toDateString() === now.toDateString()) return time
  return `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${time}`
}
