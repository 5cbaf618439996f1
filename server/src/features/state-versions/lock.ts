import type { Ctx } from '../../app.ts'
import type { Actor } from '../../auth/actor.ts'
import { conflict } from '../../errors.ts'
import * as store from './store.ts'

type Lockable = {
  name: string
  locked_by_type: 'user' | 'team' | 'run' | null
  locked_by_id: string | null
  locked_reason: string | null
}

/** The id under which the actor holds locks; undefined for one that holds none. */
export function lockHolderId(actor: Actor): string | undefined {
  if (actor.kind === 'run') return actor.runId
  if (actor.kind === 'user') return actor.teamId ?? actor.userId
  return undefined
}

/** State is written by whoever holds the workspace's lock, and by nobody else. Throws `conflict`. */
export async function checkHoldsLock(ctx: Ctx, workspace: Lockable) {
  if (workspace.locked_by_type === null || workspace.locked_by_id === null) {
    throw conflict(`the workspace ${workspace.name} is not locked: lock it before you write its state`)
  }
  if (workspace.locked_by_id === lockHolderId(ctx.actor)) return
  throw conflict(`${await lockedBy(ctx, workspace)}, so you can't write its state`)
}

/** `the workspace network is locked by user ada (maintenance)`. */
export async function lockedBy(ctx: Ctx, workspace: Lockable) {
  const { locked_by_type: type, locked_by_id: id } = workspace
  const name = type && id ? await store.findHolderName(ctx.db, type, id) : undefined
  const reason = workspace.locked_reason ? ` (${workspace.locked_reason})` : ''
  return `the workspace ${workspace.name} is locked by ${type} ${name ?? id}${reason}`
}
