import { includedOf } from '../../api/included.ts'
import type { WorkspaceDocument } from './workspace.ts'

/** Who holds a lock. A person who left, or a team that one can't see, has no name. */
export type LockHolder = { kind: 'user' | 'team' | 'run'; id: string; name: string }

const KINDS = { users: 'user', teams: 'team', runs: 'run' } as const

/** Who holds the lock of the workspace; undefined when nobody does. */
export function lockHolder(document: WorkspaceDocument): LockHolder | undefined {
  const holder = document.data.relationships['locked-by'].data
  if (!document.data.attributes.locked || !holder) return undefined
  const kind = KINDS[holder.type]
  return { kind, id: holder.id, name: nameOf(document, kind) ?? (kind === 'run' ? holder.id : `another ${kind}`) }
}

function nameOf(document: WorkspaceDocument, kind: LockHolder['kind']) {
  const included = includedOf(document)
  const holder = document.data.relationships['locked-by']
  if (kind === 'user') return included.one('users', holder)?.attributes.username
  if (kind === 'team') return included.one('teams', holder)?.attributes.name
  return undefined
}

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
