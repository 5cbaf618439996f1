import type { Wire } from '@groundstate/contract/responses'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { includedOf } from '../../api/queries.ts'
import type { WorkspaceDocument } from './workspace.ts'

/** The holder of a lock. A deleted user, or a team not visible to the user, has no name. */
export type LockHolder = { kind: 'user' | 'team' | 'run'; id: string; name: string }

const KINDS = { users: 'user', teams: 'team', runs: 'run' } as const

type Locked = Pick<Wire<typeof workspaceSchema>, 'attributes' | 'relationships'>
/** The lock holder of the workspace in a document; undefined when unlocked. */
export function lockHolder(document: WorkspaceDocument) {
  const { 'locked-by': holder } = document.data.relationships
  const included = includedOf(document)
  return holderOf(document.data, included.one('users', holder) ?? included.one('teams', holder))
}

/** As `lockHolder`, for a workspace whose holder was found already, unless it is a run. */
export function holderOf({ attributes, relationships }: Locked, named: Named | undefined): LockHolder | undefined {
  const holder = relationships['locked-by'].data
  if (!attributes.locked || !holder) return undefined
  const kind = KINDS[holder.type]
  const name = named?.type === 'users' ? named.attributes.username : named?.attributes.name
  return { kind, id: holder.id, name: name ?? (kind === 'run' ? holder.id : `another ${kind}`) }
}
type Named = Wire<typeof userSchema> | Wire<typeof teamSchema>

/** "locked by ada since 12:04: maintenance", for buttons that do not apply because of it. */
export function lockReason(
  holder: LockHolder,
  { 'locked-at': at, 'locked-reason': reason }: { 'locked-at': string | null; 'locked-reason': string | null },
  now = new Date(),
) {
  const who = holder.kind === 'team' ? `the team ${holder.name}` : holder.name
  const since = at === null ? '' : ` since ${sinceWhen(new Date(at), now)}`
  return `locked by ${who}${since}${reason ? `: ${reason}` : ''}`
}

/** The time of a day in the reader's zone; before today with the day: "20 Nov, 12:04". */
function sinceWhen(at: Date, now: Date) {
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  if (at.toDateString() === now.toDateString()) return time
  return `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${time}`
}
