import type { Ctx } from '../../../app.ts'
import { auditedStatement, recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { conflict, forbidden, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { findOwnersTeamId } from '../../organizations/teams/access.ts'
import { type Workspace, requireWorkspace } from './access.ts'
import {
  type LockAction,
  type LockHolder,
  UNLOCKED,
  checkNoPendingStateVersion,
  lockAudit,
  lockHolder,
  workspaceLocking,
  workspaceUnlocked,
} from './audit.ts'
import * as store from './store.ts'

/** Locks the workspace for the caller. Throws `conflict` when it is locked already, also by the caller. */
export async function lockWorkspace(ctx: Ctx, id: string, reason: string | null): Promise<Workspace> {
  const workspace = await requireWorkspace(ctx, id, 'lock')
  const holder = await requireHolder(ctx, workspace)
  const lock = {
    locked_by_type: holder.type,
    locked_by_id: holder.id,
    locked_reason: reason,
    locked_at: ctx.now(),
  }
  const event = lockAudit(workspace, 'lock')
  const [locked] = await auditedStatement(ctx, event, { change: store.insertIdleLock, values: { id, ...lock } })
  if (!locked) await takeLock(ctx, { workspace, lock })
  return { ...workspace, ...lock }
}

async function takeLock(ctx: Ctx, { workspace, lock }: { workspace: Workspace; lock: store.Lock }) {
  await transact(ctx, async (ctx) => {
    const found = await store.lockWorkspaceRow(ctx.db, workspace.id)
    if (!found) throw notFound('workspace')
    if (found.locked_by_type !== null) {
      throw conflict(`the workspace ${found.name} ${await describeLock(ctx, found)}`)
    }
    await raise(ctx, workspaceLocking, found)
    await store.updateWorkspace(ctx.db, workspace, lock)
    await recordAudit(ctx, lockAudit(workspace, 'lock'))
  })
}

/**
 * Releases the caller's own lock. Throws `conflict`, in the words that clients look for, when the workspace is not
 * locked or another user holds the lock.
 */
export async function unlockWorkspace(ctx: Ctx, id: string): Promise<Workspace> {
  const workspace = await requireWorkspace(ctx, id, 'lock')
  const holder = await requireHolder(ctx, workspace)
  const event = lockAudit(workspace, 'unlock')
  const [unlocked] = await auditedStatement(ctx, event, { change: store.deleteIdleLock, values: { id, holder } })
  if (unlocked) return { ...workspace, ...UNLOCKED }
  return releaseLock(ctx, { workspace, action: 'unlock' }, async (ctx, locked) => {
    if (locked.locked_by_type !== holder.type || locked.locked_by_id !== holder.id) {
      throw conflict(`the workspace ${locked.name} ${await describeLock(ctx, locked)}; only they can unlock it`)
    }
    checkNoPendingStateVersion(locked)
  })
}

/** Releases the lock of any holder but a run. A state version that is pending is discarded. */
export async function forceUnlockWorkspace(ctx: Ctx, id: string): Promise<Workspace> {
  const workspace = await requireWorkspace(ctx, id, 'force-unlock')
  return releaseLock(ctx, { workspace, action: 'force_unlock' }, async (ctx, locked) => {
    // A run holds the lock to protect the state that it writes. A 409 here reads as already unlocked to clients.
    if (locked.locked_by_type === 'run') {
      throw forbidden(`the workspace ${locked.name} ${await describeLock(ctx, locked)}; cancel the run to release it`)
    }
  })
}

async function releaseLock(
  ctx: Ctx,
  { workspace, action }: { workspace: Workspace; action: LockAction },
  check: (ctx: Ctx, locked: store.WorkspaceRow) => Promise<void>,
): Promise<Workspace> {
  await transact(ctx, async (ctx) => {
    const locked = await store.lockWorkspaceRow(ctx.db, workspace.id)
    if (!locked) throw notFound('workspace')
    if (locked.locked_by_type === null) throw conflict(`the workspace ${locked.name} is already unlocked`)
    await check(ctx, locked)
    await store.deleteLock(ctx.db, workspace.id)
    await recordAudit(ctx, lockAudit(workspace, action))
    await raise(ctx, workspaceUnlocked, locked)
  })
  return { ...workspace, ...UNLOCKED }
}

async function requireHolder(ctx: Ctx, workspace: Workspace): Promise<LockHolder> {
  const holder = lockHolder(ctx.actor)
  if (holder) return holder
  if (ctx.actor.kind === 'organization') {
    return { type: 'team', id: await findOwnersTeamId(ctx, workspace.organization_id) }
  }
  throw notFound('workspace')
}

/** `is locked by User alice since 2026-01-02T03:04:05.000Z: a reason`, for messages. */
export async function describeLock(ctx: Ctx, workspace: store.Lock) {
  const { locked_by_type: type, locked_by_id: id } = workspace
  if (type === null || id === null) return 'is not locked'
  const noun = { user: 'User', team: 'Team', run: 'Run' }[type]
  const name = (await store.findLockHolderName(ctx.db, type, id)) ?? id
  const reason = workspace.locked_reason ? `: ${workspace.locked_reason}` : ''
  return `is locked by ${noun} ${name} since ${workspace.locked_at?.toISOString()}${reason}`
}
