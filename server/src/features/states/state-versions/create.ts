import type { Ctx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import type { Facts } from '../../../auth/facts.ts'
import { transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { insertStateVersion, type NewVersion } from './new-version-store.ts'
import { dropRefused, storeContent } from './content.ts'
import { extractSmall, unprocessed } from './extraction-columns.ts'
import { EXTRACT } from './extract.ts'
import { checkHoldsLock } from './check-lock.ts'
import { type NewState, type NewVersionInput, readNewState } from './new-state.ts'
import { checkSerial, type StateIdentity } from './serial.ts'
import * as store from './store.ts'
import { auditRow } from '../../../audit/record.ts'
import { RUNS_USER_ID } from '../../identity/users/store.ts'
import { lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import type { Workspace } from '../../workspaces/workspaces/workspace.ts'

/** The columns of a workspace's row that decide whether a state may be added. */
export type StateOfWorkspace = Pick<
  Workspace,
  | 'id'
  | 'name'
  | 'locked_by_type'
  | 'locked_by_id'
  | 'locked_reason'
  | 'locked_at'
  | 'state_revision'
  | 'pending_state_version_id'
  | 'latest_state_version_id'
  | 'latest_state_serial'
  | 'latest_state_md5'
  | 'latest_state_lineage'
>

/**
 * Adds a state version to a workspace that the caller may write states of: finalized when its content comes along, else
 * pending until that is uploaded.
 *
 * Throws `invalid` for a body that contradicts itself, `conflict` without the lock, `precondition-failed` for a serial
 * that is behind, `conflict` for another content or lineage.
 */
export async function createStateVersion(ctx: Ctx, workspace: Workspace, input: NewVersionInput) {
  const state = readNewState(ctx, input)
  const surroundings = surroundingsOf(workspace)
  const known = await checkNewState(ctx, workspace, state)
  if (known) return { version: known, surroundings }
  const runId = await checkRun(ctx, workspace.id, input.relationships.run?.data?.id)

  const id = ctx.newId('sv')
  const { raw, json } = state
  const [rawStored, jsonStored] = await Promise.all([
    raw && storeContent(ctx, { id, kind: 'raw', md5: state.md5 }, raw.content),
    json && storeContent(ctx, { id, kind: 'json' }, json),
  ])
  const version: NewVersion = {
    id,
    serial: state.serial,
    md5: state.md5,
    lineage: state.lineage,
    size: raw?.content.length ?? null,
    intermediate: isIntermediate(ctx, input),
    rawLocation: rawStored?.location ?? null,
    rawSealed: rawStored?.sealed,
    jsonLocation: jsonStored?.location ?? null,
    jsonSealed: jsonStored?.sealed,
    createdByUserId: creatorId(ctx),
    lockHolderId: workspace.locked_by_id,
    runId,
    rollbackOfId: null,
    createdAt: ctx.now(),
    extracted: raw ? extractSmall(ctx, raw.content, raw.header, state.outputs) : unprocessed(undefined, state.outputs),
    audit: auditRow(ctx, versionAudit(workspace, 'create', { id, serial: state.serial })),
  }
  try {
    const row = await appendVersion(ctx, workspace, version, (ctx, fresh) => checkNewState(ctx, fresh, state))
    return { version: row, surroundings }
  } catch (error) {
    await dropRefused(ctx, [rawStored, jsonStored], error)
    throw error
  }
}

/** What the audit trail keeps of a new version. */
export function versionAudit(
  workspace: Pick<Workspace, 'id' | 'organization_id'>,
  action: string,
  { id, ...meta }: { id: string; serial: number; rollback_of?: string },
) {
  return {
    organizationId: workspace.organization_id,
    action,
    resource: { type: 'state_version', id },
    meta: { workspace: workspace.id, ...meta },
  }
}

/** What of a version's workspace decides about how the version is shown. */
export type Surroundings = { plan: string; vcs_repo: unknown; facts: Facts }

export function surroundingsOf(workspace: Workspace): Surroundings {
  return { plan: workspace.organization_plan, vcs_repo: workspace.vcs_repo, facts: workspace.facts }
}

/**
 * Adds a version to the history on the strength of a workspace that was read before, and checks again, under the lock of
 * its row, when that has changed in between. `check` may answer with a version that makes the new one unnecessary.
 */
export async function appendVersion(
  ctx: Ctx,
  workspace: StateOfWorkspace,
  version: NewVersion,
  check: (ctx: Ctx, fresh: StateOfWorkspace) => Promise<store.PresentedRow | undefined>,
): Promise<store.PresentedRow> {
  const needsJob = version.size !== null && !version.extracted.processed
  if (!needsJob) {
    const row = await insertStateVersion(ctx.db, workspace, version)
    if (row) return row
  }
  return transact(ctx, async (ctx) => {
    let row = needsJob ? await insertStateVersion(ctx.db, workspace, version) : undefined
    if (!row) {
      const fresh = await lockWorkspaceRow(ctx.db, workspace.id)
      if (!fresh) throw notFound('workspace')
      const known = await check(ctx, fresh)
      if (known) return known
      row = await insertStateVersion(ctx.db, fresh, version)
      if (!row) throw new Error(`the row of workspace ${fresh.id} changed under its lock`)
    }
    if (needsJob) await ctx.jobs.enqueue(ctx.db, EXTRACT, { id: version.id })
    return row
  })
}

/** The lock, and the order of serials. Answers with the version that already has this very content, if one has. */
async function checkNewState(ctx: Ctx, workspace: StateOfWorkspace, state: NewState) {
  await checkHoldsLock(ctx, workspace)
  const latest = latestState(workspace)
  checkSerial(latest, state)
  const isRepeated = latest !== undefined && latest.serial === state.serial && latest.md5 === state.md5
  if (!isRepeated || !state.raw || workspace.latest_state_version_id === null) return undefined
  return store.findVersion(ctx.db, workspace.latest_state_version_id)
}

/** What the next state has to follow: the newest finalized version, snapshots included. */
export function latestState(workspace: StateOfWorkspace): StateIdentity | undefined {
  const { latest_state_serial: serial, latest_state_md5: md5, latest_state_lineage: lineage } = workspace
  return serial === null || md5 === null ? undefined : { serial, md5, lineage }
}

/**
 * The engine does not say which states are snapshots. What it stores while it works for a run is one until the run lets
 * go of the workspace; a client that knows says so itself.
 */
function isIntermediate(ctx: Ctx, input: NewVersionInput) {
  return ctx.actor.kind === 'run' || (input.attributes.intermediate ?? false)
}

export function creatorId(ctx: Ctx) {
  return ctx.actor.kind === 'run' ? RUNS_USER_ID : actorUserId(ctx.actor)
}

/** The run that the version belongs to: the engine's own, or one of this workspace that the request names. */
async function checkRun(ctx: Ctx, workspaceId: string, runId: string | undefined) {
  const own = ctx.actor.kind === 'run' ? ctx.actor.runId : undefined
  if (runId === undefined || runId === own) return own ?? null
  if (own === undefined && (await store.isRunOf(ctx.db, runId, workspaceId))) return runId
  throw invalid(`run is ${runId}, there is no such run in this workspace`, '/data/relationships/run')
}

/** As `requireWorkspace`; but to lack a permission on states is not to find them (INTERFACE §4.3.4). */
export async function requireStateWorkspace(
  ctx: Ctx,
  workspaceId: string,
  permission: 'state-versions:read' | 'state-versions:write' | 'state-outputs:read',
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  if (!workspace.can.has(permission)) throw notFound('workspace')
  return workspace
}
