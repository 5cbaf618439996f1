import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { announce, runNotice } from '../../../changes/announce.ts'
import { isTransaction, transact } from '../../../db/db.ts'
import { conflict, forbidden, notFound } from '../../../errors.ts'
import { domainEvent, raise } from '../../../events.ts'
import { countManaged } from '../../states/state-versions/extraction.ts'
import { repositoryLeft } from '../../vcs/repositories/service.ts'
import { type Workspace, mayForceDelete, requireWorkspaceBy } from '../../workspaces/workspaces/access.ts'
import { workspaceAudit } from '../../workspaces/workspaces/audit.ts'
import { describeLock } from '../../workspaces/workspaces/lock.ts'
import * as store from '../../workspaces/workspaces/store.ts'
import { abandonJobs } from '../agent-jobs/service.ts'
import { fireOutbound } from '../run-triggers/fire.ts'
import { listWaitingDestinations } from '../run-triggers/store.ts'
import { listSourceRuns, listTeamIds, listTriggersAround } from './store.ts'

/** Throws `forbidden` for a workspace with resources, unless the caller may force it, or may delete its project or organization (`isForced`). */
export async function deleteWorkspace(ctx: Ctx, key: store.WorkspaceKey, options: { isForced?: true } = {}) {
  const workspace = await requireWorkspaceBy(ctx, key, 'workspace:delete')
  const mayForce = options.isForced || mayForceDelete(workspace)
  const managed = mayForce ? 0 : await countManagedBy(ctx, workspace)
  await destroy(ctx, workspace, (_, locked) => {
    if (!mayForce) checkSameState(workspace, locked)
    const count = managed === undefined ? 'an unknown number of' : Math.max(managed, locked.resource_count)
    if (!mayForce && count !== 0)
      throw forbidden(
        `the workspace ${locked.name} manages ${count} resources: destroy them, or ask an owner to delete it`,
      )
  })
}

/** Deletes a workspace that manages no resources. Otherwise throws `conflict` with the text that clients match. */
export async function safeDeleteWorkspace(ctx: Ctx, key: store.WorkspaceKey) {
  const workspace = await requireWorkspaceBy(ctx, key, 'workspace:delete')
  const managed = await countManagedBy(ctx, workspace)
  await destroy(ctx, workspace, async (ctx, locked) => {
    if (locked.locked_by_type !== null)
      throw conflict(`the workspace ${locked.name} ${await describeLock(ctx, locked)}`)
    if (locked.pending_state_version_id !== null) throw stillProcessed(locked)
    checkSameState(workspace, locked)
    if (managed === undefined)
      throw conflict(`the workspace ${locked.name} may be still managing resources: its state can't be read`)
    const count = Math.max(managed, locked.resource_count)
    if (count > 0)
      throw conflict(`the workspace ${locked.name} is still managing resources (${count}): destroy them first`)
  })
}

/** A workspace is deleted in this transaction, with its runs. */
export const workspaceDeleting = domainEvent<store.WorkspaceRow>('workspace.deleting')

type StateOf = Pick<store.WorkspaceRow, 'name' | 'current_state_version_id'>

/** Counts resources in the state, since `resource_count` may be stale after an apply; undefined for an unreadable state. */
async function countManagedBy(ctx: Ctx, { current_state_version_id: id }: StateOf) {
  return id === null ? 0 : countManaged(ctx, id)
}

/** Throws `conflict` when the current state is not the one whose resources were counted. */
function checkSameState(counted: StateOf, locked: StateOf) {
  if (locked.current_state_version_id !== counted.current_state_version_id) throw stillProcessed(locked)
}

function stillProcessed({ name }: StateOf) {
  return conflict(`the state of the workspace ${name} is still being processed: try again in a moment`)
}

type Check = (ctx: Ctx, workspace: store.WorkspaceRow) => void | Promise<void>

/** Maximum number of times that the triggers of a workspace are fired before its deletion. */
const MAX_FIRINGS = 3

/** Deletes a workspace, unless `check` throws for it. In a transaction, the caller fires its triggers first. */
async function destroy(ctx: Ctx, workspace: Workspace, check: Check) {
  // A refused deletion must not start runs.
  await check(ctx, workspace)
  for (let firing = 1; ; firing += 1) {
    const isInside = isTransaction(ctx.db)
    // Without a lock, since a firing locks other workspaces and may read blobs.
    if (!isInside) await fireOutbound(ctx, workspace.id)
    const isLast = isInside || firing === MAX_FIRINGS
    if (await transact(ctx, async (ctx) => destroyLocked(ctx, workspace, { check, isLast }))) return
  }
}

/** Returns false, and deletes nothing, if a trigger waits to be fired, for example after an apply that just ended, unless `isLast`. */
async function destroyLocked(
  ctx: TransactionCtx,
  { id, name, organization_id: organizationId }: Workspace,
  { check, isLast }: { check: Check; isLast: boolean },
) {
  const locked = await store.lockWorkspaceRow(ctx.db, id)
  if (!locked) throw notFound('workspace')
  await check(ctx, locked)
  const unfired = await listWaitingDestinations(ctx.db, id)
  if (unfired.length > 0 && !isLast) return false
  await abandonJobs(ctx, { workspaceId: id })
  const meta = { name, ...(unfired.length > 0 && { unfired }) }
  const event = workspaceAudit({ id, organization_id: organizationId }, 'destroy', meta)
  const [teams, triggers, sources] = await Promise.all([
    listTeamIds(ctx.db, id),
    listTriggersAround(ctx.db, id),
    listSourceRuns(ctx.db, id),
  ])
  await raise(ctx, workspaceDeleting, locked)
  await store.deleteWorkspace(ctx.db, id)
  if (locked.repository_id !== null) await raise(ctx, repositoryLeft, { repositoryId: locked.repository_id })
  const notices = [
    // When the notice is delivered, team access to the workspace is already deleted.
    { type: 'workspaces' as const, id, workspace: id, teams },
    ...triggers.map((trigger) => ({ type: 'run-triggers' as const, id: trigger.id, workspace: trigger.other_id })),
  ]
  announce(ctx, ...sources.map(runNotice))
  await recordAudit(ctx, { ...event, notices })
  return true
}
