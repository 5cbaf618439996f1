import type { Ctx } from '../../../app.ts'
import { announced, type AuditEvent, auditRow } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { RUNS_USER_ID } from '../../identity/users/store.ts'
import { lockWorkspaceRow, type WorkspaceRow } from '../../workspaces/workspaces/store.ts'
import type { Workspace } from '../../workspaces/workspaces/workspace.ts'
import { stateVersionAudit } from './audit.ts'
import { checkHoldsLock } from './check-lock.ts'
import { dropRefused, storeContent } from './content.ts'
import { examinedColumns, unprocessedColumns } from './extraction-columns.ts'
import { extractionJob } from './extraction-job.ts'
import { type NewState, type NewVersionInput, readNewState } from './new-state.ts'
import { type CheckedWorkspace, insertStateVersion, type NewVersion } from './new-version-store.ts'
import { checkSerial, latestState } from './serial.ts'
import * as store from './store.ts'

/** The columns of a workspace's row that decide whether a state may be added. */
type WritableWorkspace = Pick<
  WorkspaceRow,
  | 'id'
  | 'name'
  | 'locked_by_type'
  | 'locked_by_id'
  | 'locked_reason'
  | 'locked_at'
  | 'state_revision'
  | 'pending_state_version_id'
  | 'current_state_version_id'
  | 'latest_state_version_id'
  | 'latest_state_serial'
  | 'latest_state_md5'
  | 'latest_state_lineage'
>

/**
 * Adds a state version to a workspace whose state the caller may write. It is finalized when the request has the content, else
 * pending until the content is uploaded.
 *
 * Throws `invalid` for a body that contradicts itself, `conflict` without the lock, `precondition-failed` for a serial
 * that is behind, `conflict` for another content or lineage.
 */
export async function createStateVersion(
  ctx: Ctx,
  workspace: Workspace,
  input: NewVersionInput,
): Promise<store.PresentedRow> {
  const state = await readNewState(ctx, input)
  const known = await checkNewState(ctx, workspace, state)
  if (known) return known
  const runId = await checkRun(ctx, workspace.id, input.relationships.run?.data?.id)

  const id = ctx.newId('sv')
  const { raw, json, serial } = state
  const [rawStored, jsonStored] = await Promise.all([
    raw && storeContent(ctx, { id, kind: 'raw', md5: state.md5 }, raw.content),
    json && storeContent(ctx, { id, kind: 'json' }, json),
  ])
  const { id: workspaceId, organization_id: organizationId } = workspace
  const audited = { id, serial, workspace_id: workspaceId, organization_id: organizationId }
  const version: AuditedVersion = {
    id,
    serial,
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
    extracted: raw ? examinedColumns(ctx, raw, state.outputs) : unprocessedColumns(undefined, state.outputs),
    audit: stateVersionAudit(audited, 'create'),
  }
  try {
    return await insertChecked(ctx, workspace, version, (ctx, fresh) => checkNewState(ctx, fresh, state))
  } catch (error) {
    await dropRefused(ctx, [rawStored, jsonStored], error)
    throw error
  }
}

type AuditedVersion = Omit<NewVersion, 'audit'> & { audit: AuditEvent }

/** Inserts a version with its audit event, unless the workspace has changed since it was `checked`. */
export async function addVersion(ctx: Ctx, checked: CheckedWorkspace, { audit, ...version }: AuditedVersion) {
  const pendingId = checked.pending_state_version_id
  const superseded =
    pendingId === null ? [] : [{ type: 'state-versions' as const, id: pendingId, workspace: checked.id }]
  return announced(ctx, { ...audit, notices: [...audit.notices, ...superseded] }, () =>
    insertStateVersion(ctx.db, checked, { ...version, audit: auditRow(ctx, audit) }),
  )
}

/**
 * Inserts a version if the workspace has not changed since it was read. If it has, the row is locked and `check` decides again;
 * it may return an existing version that makes the new one unnecessary.
 */
async function insertChecked(
  ctx: Ctx,
  workspace: WritableWorkspace,
  version: AuditedVersion,
  check: (ctx: Ctx, fresh: WritableWorkspace) => Promise<store.PresentedRow | undefined>,
): Promise<store.PresentedRow> {
  const needsJob = version.size !== null && !version.extracted.processed
  if (!needsJob) {
    const row = await addVersion(ctx, workspace, version)
    if (row) return row
  }
  return transact(ctx, async (ctx) => {
    let row = needsJob ? await addVersion(ctx, workspace, version) : undefined
    if (!row) {
      const fresh = await lockWorkspaceRow(ctx.db, workspace.id)
      if (!fresh) throw notFound('workspace')
      const known = await check(ctx, fresh)
      if (known) return known
      row = await addVersion(ctx, fresh, version)
      if (!row) throw new Error(`the row of workspace ${fresh.id} changed under its lock`)
    }
    if (needsJob) await ctx.jobs.enqueue(ctx.db, extractionJob, { id: version.id })
    return row
  })
}

/** Checks the lock and the order of serials. Returns the version that has this very content already, if there is one. */
async function checkNewState(ctx: Ctx, workspace: WritableWorkspace, state: NewState) {
  await checkHoldsLock(ctx, workspace)
  const latest = latestState(workspace)
  if (latest && state.serial <= latest.serial && (await isForgotten(ctx, workspace, state))) return undefined
  checkSerial(latest, state)
  const isRepeated = latest !== undefined && latest.serial === state.serial && latest.md5 === state.md5
  if (!isRepeated || !state.raw || workspace.latest_state_version_id === null) return undefined
  return store.findVersion(ctx.db, workspace.latest_state_version_id)
}

/**
 * Whether the newest version is the empty state that an engine stores when it is interrupted before it has made anything, in a workspace
 * that has no state yet. The engine forgets it (its `PersistState` takes what it has read for nothing, and asks for the current state, which
 * a snapshot is not) and begins again with serial 1 and another lineage. What it has made by then would be refused. A state of the same lineage
 * is no new beginning: it is sent again, or is older.
 */
async function isForgotten(ctx: Ctx, workspace: WritableWorkspace, { lineage }: NewState) {
  const { current_state_version_id: currentId, latest_state_version_id: latestId } = workspace
  if (ctx.actor.kind !== 'run' || currentId !== null || latestId === null) return false
  const earlier = workspace.latest_state_lineage
  if (!lineage || !earlier || lineage === earlier) return false
  const latest = await store.findVersion(ctx.db, latestId)
  if (!latest?.resources_processed || latest.run_id !== ctx.actor.runId) return false
  return latest.resource_count === 0 && latest.output_ids.length === 0
}

/**
 * The engine does not say which states are snapshots. Every state that it stores during a run is one until the run releases the
 * workspace. Other clients may say so themselves.
 */
function isIntermediate(ctx: Ctx, input: NewVersionInput) {
  return ctx.actor.kind === 'run' || (input.attributes.intermediate ?? false)
}

export function creatorId(ctx: Ctx) {
  return ctx.actor.kind === 'run' ? RUNS_USER_ID : actorUserId(ctx.actor)
}

/** The run that the version belongs to: the actor's own run, or a run of this workspace that the request names. */
async function checkRun(ctx: Ctx, workspaceId: string, runId: string | undefined) {
  const own = ctx.actor.kind === 'run' ? ctx.actor.runId : undefined
  if (runId === undefined || runId === own) return own ?? null
  if (own === undefined && (await store.isRunOf(ctx.db, runId, workspaceId))) return runId
  throw invalid(`run is ${runId}, there is no such run in this workspace`, '/data/relationships/run')
}
