import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { announce, runNotice } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { conflict, forbidden, notFound } from '../../../errors.ts'
import { countManaged } from '../../states/state-versions/extraction.ts'
import { type Workspace, mayForceDelete, requireWorkspaceBy } from '../../workspaces/workspaces/access.ts'
import { workspaceAudit } from '../../workspaces/workspaces/audit.ts'
import { describeLock } from '../../workspaces/workspaces/lock.ts'
import * as store from '../../workspaces/workspaces/store.ts'
import { abandonJobs } from '../agent-jobs/service.ts'
import { fireOutbound } from '../run-triggers/fire.ts'
import { listSourceRuns, listTeamIds, listTriggersAround } from './store.ts'

/** Throws `forbidden` for a workspace with resources, unless the caller may force it, or may delete its project or organization (`isForced`). */
export async function deleteWorkspace(ctx: Ctx, key: store.WorkspaceKey, options: { isForced?: true } = {}) {
  const workspace = await requireWorkspaceBy(ctx, key, 'workspace:delete')
  const mayForce = options.isForced || mayForceDelete(workspace)
  const managed = mayForce ? 0 : await countManagedBy(ctx, workspace)
  await destroy(ctx, workspace, (locked) => {
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
  await destroy(ctx, workspace, async (locked) => {
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

/** Deletes a workspace, unless `check` throws for its locked row. */
async function destroy(ctx: Ctx, workspace: Workspace, check: (locked: store.WorkspaceRow) => void | Promise<void>) {
  const { id, name, organization_id: organizationId } = workspace
  // Before the workspace is locked, since workspaces that trigger each other would deadlock.
  await fireOutbound(ctx, id)
  await transact(ctx, async (ctx) => {
    const locked = await store.lockWorkspaceRow(ctx.db, id)
    if (!locked) throw notFound('workspace')
    await check(locked)
    // An apply may just have ended.
    await fireOutbound(ctx, id)
    await abandonJobs(ctx, { workspaceId: id })
    const event = workspaceAudit({ id, organization_id: organizationId }, 'destroy', { name })
    const [teams, triggers, sources] = await Promise.all([
      listTeamIds(ctx.db, id),
      listTriggersAround(ctx.db, id),
      listSourceRuns(ctx.db, id),
    ])
    await store.deleteWorkspace(ctx.db, id)
    const notices = [
      // When the notice is delivered, team access to the workspace is already deleted.
      { type: 'workspaces' as const, id, workspace: id, teams },
      ...triggers.map((trigger) => ({ type: 'run-triggers' as const, id: trigger.id, workspace: trigger.other_id })),
    ]
    announce(ctx, ...sources.map(runNotice))
    await recordAudit(ctx, { ...event, notices })
  })
}
