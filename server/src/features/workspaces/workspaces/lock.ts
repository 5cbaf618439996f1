import type { Ctx } from '../../../app.ts'
import { auditedStatement, recordAudit } from '../../../audit/record.ts'
import type { Actor } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { conflict, forbidden, invalid, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { findOwnersTeamId } from '../../organizations/teams/access.ts'
import { type Workspace, requireWorkspace } from './access.ts'
import { workspaceAudit, workspaceLocking, workspaceUnlocked } from './audit.ts'
import * as store from './store.ts'

/** Locks the workspace for the caller. Throws `conflict` when it is already locked, even by the caller. */
export async function lockWorkspace(ctx: Ctx, id: string, reason: string | null): Promise<Workspace> {
  const workspace = await requireWorkspace(ctx, id, 'lock')
  const holder = await requireHolder(ctx, workspace)
  const lock = { locked_by_type: holder.type, locked_by_id: holder.id, locked_reason: reason, locked_at: ctx.now() }
  const event = lockAudit(workspace, 'lock')
  const [locked] = await auditedStatement(ctx, event, { change: store.insertIdleLock, values: { id, ...lock } })
  if (!locked) await takeLock(ctx, workspace, lock)
  return { ...workspace, ...lock }
}

async function takeLock(ctx: Ctx, workspace: Workspace, lock: store.Lock) {
  await transact(ctx, async (ctx) => {
    const row = await store.lockWorkspaceRow(ctx.db, workspace.id)
    if (!row) throw notFound('workspace')
    if (row.locked_by_type !== null) throw conflict(`the workspace ${row.name} ${await describeLock(ctx, row)}`)
    await raise(ctx, workspaceLocking, row)
    await store.updateWorkspace(ctx.db, workspace, lock)
    await recordAudit(ctx, lockAudit(workspace, 'lock'))
  })
}

/** Releases the caller's own lock. Throws `conflict`, with the text that clients match, if the caller does not hold it. */
export async function unlockWorkspace(ctx: Ctx, id: string): Promise<Workspace> {
  const workspace = await requireWorkspace(ctx, id, 'lock')
  const holder = await requireHolder(ctx, workspace)
  const event = lockAudit(workspace, 'unlock')
  const [unlocked] = await auditedStatement(ctx, event, { change: store.deleteIdleLock, values: { id, holder } })
  if (unlocked) return { ...workspace, ...store.UNLOCKED }
  return releaseLock(ctx, { workspace, action: 'unlock' }, async (ctx, locked) => {
    if (locked.locked_by_type !== holder.type || locked.locked_by_id !== holder.id) {
      throw conflict(`the workspace ${locked.name} ${await describeLock(ctx, locked)}; only they can unlock it`)
    }
    // Clients match `latest state version is still pending`; they take a conflict for a workspace that is already unlocked.
    const pending = locked.pending_state_version_id
    if (pending !== null) throw invalid(`the latest state version is still pending: ${pending} awaits its upload`)
  })
}

/** Releases the lock of any holder except a run. A pending state version is discarded. */
export async function forceUnlockWorkspace(ctx: Ctx, id: string): Promise<Workspace> {
  const workspace = await requireWorkspace(ctx, id, 'force-unlock')
  return releaseLock(ctx, { workspace, action: 'force_unlock' }, async (ctx, locked) => {
    // A run's lock protects the state that it writes. Clients would take a 409 for a workspace that is already unlocked.
    if (locked.locked_by_type === 'run') {
      throw forbidden(`the workspace ${locked.name} ${await describeLock(ctx, locked)}; cancel the run to release it`)
    }
  })
}

type LockAction = 'lock' | 'unlock' | 'force_unlock'

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
  return { ...workspace, ...store.UNLOCKED }
}

function lockAudit(workspace: Workspace, action: LockAction) {
  return workspaceAudit(workspace, action, { name: workspace.name })
}

/** The identity under which the actor holds locks. An organization's token locks as its owners team. */
async function requireHolder(ctx: Ctx, workspace: Workspace): Promise<store.LockHolder> {
  const holder = lockHolder(ctx.actor)
  if (holder) return holder
  if (ctx.actor.kind === 'organization') {
    return { type: 'team', id: await findOwnersTeamId(ctx, workspace.organization_id) }
  }
  throw notFound('workspace')
}

function lockHolder(actor: Actor): store.LockHolder | undefined {
  if (actor.kind === 'run') return { type: 'run', id: actor.runId }
  if (actor.kind !== 'user') return undefined
  return actor.teamId === undefined ? { type: 'user', id: actor.userId } : { type: 'team', id: actor.teamId }
}

/** Whether the actor itself holds the lock; always false for an organization's token. */
export function isLockedBy(workspace: Pick<store.Lock, 'locked_by_type' | 'locked_by_id'>, actor: Actor) {
  const holder = lockHolder(actor)
  return holder !== undefined && workspace.locked_by_type === holder.type && workspace.locked_by_id === holder.id
}

/** `is locked by User alice since 2026-01-02T03:04:05.000Z: a reason`, for messages. */
export async function describeLock(ctx: Ctx, workspace: store.Lock) {
  const { locked_by_type: type, locked_by_id: id } = workspace
  if (type === null || id === null) return 'is not locked'
  const noun = { user: 'User', team: 'Team', run: 'Run' }[type]
  const name = (await store.findLockHolderName(ctx.db, { type, id })) ?? id
  const reason = workspace.locked_reason ? `: ${workspace.locked_reason}` : ''
  return `is locked by ${noun} ${name} since ${workspace.locked_at?.toISOString()}${reason}`
}
