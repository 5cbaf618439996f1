import type { Actor } from '../../../auth/actor.ts'
import type { Lock } from './store.ts'

export type LockHolder = { type: 'user' | 'team' | 'run'; id: string }

export const UNLOCKED = {
  locked_by_type: null,
  locked_by_id: null,
  locked_reason: null,
  locked_at: null,
} as const satisfies Lock

/**
 * As whom the actor holds a lock: clients know users, teams and runs. Undefined for an organization's token, which
 * locks as its owners team, and for actors that may not lock.
 */
export function lockHolder(actor: Actor): LockHolder | undefined {
  if (actor.kind === 'run') return { type: 'run', id: actor.runId }
  if (actor.kind !== 'user') return undefined
  return actor.teamId === undefined ? { type: 'user', id: actor.userId } : { type: 'team', id: actor.teamId }
}

/** Whether the actor itself holds the lock of the workspace. */
export function isLockedBy(workspace: Pick<Lock, 'locked_by_type' | 'locked_by_id'>, actor: Actor) {
  const holder = lockHolder(actor)
  return holder !== undefined && workspace.locked_by_type === holder.type && workspace.locked_by_id === holder.id
}
