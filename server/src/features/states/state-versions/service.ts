import { parseExact } from '@groundstate/contract/exact-json'
import type { CreateStateVersion, listedStatus } from '@groundstate/contract/state-versions'
import type { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, announced, auditRow } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { type Page, type Paged, transact } from '../../../db/db.ts'
import { AppError, invalid, notFound } from '../../../errors.ts'
import { outputsFromJson } from '../../../terraform-state/extraction.ts'
import type { PackedExtraction } from '../../../terraform-state/packed-extraction.ts'
import { RUNS_USER_ID } from '../../identity/users/store.ts'
import { type Workspace, requireWorkspaceBy } from '../../workspaces/workspaces/access.ts'
import { type Lock, type WorkspaceRow, lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { announceVersions, stateVersionAudit } from './access.ts'
import { type ReadableHeader, checkContent, checkJsonState, examineContent } from './content-rules.ts'
import { deleteRejectedContents, storeContent } from './content.ts'
import { examinedColumns, extractionJob, unprocessedColumns } from './extraction.ts'
import { type CheckedWorkspace, type NewVersion, insertStateVersion } from './new-version-store.ts'
import { type DisplayContext, displayContextOf } from './resource.ts'
import { type SealedOutput, sealOutputs } from './sealed-outputs.ts'
import { type LatestState, checkHoldsLock, checkSerial, latestState } from './serial.ts'
import * as store from './store.ts'

type StateVersionFilter = { organization: string; workspace: string; status: z.infer<typeof listedStatus> | undefined }
type StateVersionPage = Paged<store.PresentedRow> & { display: DisplayContext }

export async function listStateVersions(
  ctx: Ctx,
  { organization, workspace: name, status }: StateVersionFilter,
  page: Page,
): Promise<StateVersionPage> {
  const workspace = await requireWorkspaceBy(ctx, { organization, name }, 'workspace:read')
  if (!workspace.can.has('state-versions:read')) throw notFound('workspace')
  const [rows, total] = await Promise.all([
    store.listStateVersions(ctx.db, workspace.id, { page, status }),
    status === undefined ? workspace.state_version_count : store.countStateVersions(ctx.db, workspace.id, status),
  ])
  return { rows, total, display: displayContextOf(workspace) }
}

/** The columns of a workspace's row that decide whether a state may be added. */
type WritableWorkspace = CheckedWorkspace & Lock & LatestState & Pick<WorkspaceRow, 'name' | keyof CurrentStates>
type CurrentStates = Pick<WorkspaceRow, 'current_state_version_id' | 'latest_state_version_id'>

/**
 * Adds a state version to a workspace whose state the caller may write. It is finalized if the request has the content, else pending
 * until the content is uploaded.
 *
 * Throws `invalid` for a contradictory body, `conflict` without the lock, `precondition-failed` for a serial that is behind, `conflict`
 * for different content or another lineage.
 */
export async function createStateVersion(ctx: Ctx, workspace: Workspace, input: NewVersionInput) {
  const state = await readNewState(ctx, input)
  const existing = await checkNewState(ctx, workspace, state)
  if (existing) return existing
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
    await deleteRejectedContents(ctx, [rawStored, jsonStored], error)
    throw error
  }
}

type AuditedVersion = Omit<NewVersion, 'audit'> & { audit: AuditEvent }

/** Inserts a version with its audit event; returns undefined if the workspace has changed since it was `checked`. */
export async function addVersion(ctx: Ctx, checked: CheckedWorkspace, { audit, ...version }: AuditedVersion) {
  const { id: workspace, pending_state_version_id: id } = checked
  const superseded = id === null ? [] : [{ type: 'state-versions' as const, id, workspace }]
  return announced(ctx, { ...audit, notices: [...audit.notices, ...superseded] }, () =>
    insertStateVersion(ctx.db, checked, { ...version, audit: auditRow(ctx, audit) }),
  )
}

/** Inserts a version. If the workspace has changed since it was read, locks it and calls `check`, which may return an existing version. */
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
      const existing = await check(ctx, fresh)
      if (existing) return existing
      row = await addVersion(ctx, fresh, version)
      if (!row) throw new Error(`the row of workspace ${fresh.id} changed under its lock`)
    }
    if (needsJob) await ctx.jobs.enqueue(ctx.db, extractionJob, { id: version.id })
    return row
  })
}

/** Checks the lock and the serial. Returns the existing version if it has the same serial and content. */
async function checkNewState(ctx: Ctx, workspace: WritableWorkspace, state: NewState) {
  await checkHoldsLock(ctx, workspace)
  const latest = latestState(workspace)
  if (latest && state.serial <= latest.serial && (await isRestart(ctx, workspace, state))) return undefined
  checkSerial(latest, state)
  const isRepeated = latest !== undefined && latest.serial === state.serial && latest.md5 === state.md5
  if (!isRepeated || !state.raw || workspace.latest_state_version_id === null) return undefined
  return store.findVersion(ctx.db, workspace.latest_state_version_id)
}

/**
 * Whether an engine starts over after an interruption. In a workspace without a state, an engine that is interrupted before it has created
 * anything stores an empty state as a snapshot. Its `PersistState` does not find that state again, since it reads only the current one, and
 * starts over with serial 1 and a new lineage. Without this exception, its later states would be rejected. A state of the same lineage
 * is a retry or is older.
 */
async function isRestart(ctx: Ctx, workspace: WritableWorkspace, { lineage }: NewState) {
  const { current_state_version_id: currentId, latest_state_version_id: latestId } = workspace
  if (ctx.actor.kind !== 'run' || currentId !== null || latestId === null) return false
  const earlier = workspace.latest_state_lineage
  if (!lineage || !earlier || lineage === earlier) return false
  const latest = await store.findVersion(ctx.db, latestId)
  if (!latest?.resources_processed || latest.run_id !== ctx.actor.runId) return false
  return latest.resource_count === 0 && latest.output_ids.length === 0
}

/** Each state that an engine stores during a run is a snapshot until the run ends. Other clients mark snapshots. */
function isIntermediate(ctx: Ctx, input: NewVersionInput) {
  return ctx.actor.kind === 'run' || (input.attributes.intermediate ?? false)
}

export function creatorId(ctx: Ctx) {
  return ctx.actor.kind === 'run' ? RUNS_USER_ID : actorUserId(ctx.actor)
}

/** The run that the version belongs to: the actor's own run, or a run of this workspace in the request. */
async function checkRun(ctx: Ctx, workspaceId: string, runId: string | undefined) {
  const own = ctx.actor.kind === 'run' ? ctx.actor.runId : undefined
  if (runId === undefined || runId === own) return own ?? null
  if (own === undefined && (await store.isRunOf(ctx.db, runId, workspaceId))) return runId
  throw invalid(`run is ${runId}, there is no such run in this workspace`, '/data/relationships/run')
}

const ATTRIBUTES = '/data/attributes'

export const CONTENT_FIELDS = ['state', 'json-state', 'json-state-outputs'] as const
type ContentField = (typeof CONTENT_FIELDS)[number]

/** A request for a new version. Long contents are in `contents`, decoded, and take precedence over the attributes. */
type NewVersionInput = CreateStateVersion & { contents: Partial<Record<ContentField, Buffer>> }

type NewState = {
  serial: number
  md5: string
  /** Null if unknown; empty if the request for a pending version has an empty one. */
  lineage: string | null
  force: boolean
  raw: { content: Buffer; header: ReadableHeader; extraction: PackedExtraction | null | undefined } | undefined
  json: Buffer | undefined
  outputs: SealedOutput[]
}

/** Throws `invalid`, with a pointer, where the request contradicts itself or its content. */
async function readNewState(ctx: Ctx, { attributes, contents }: NewVersionInput): Promise<NewState> {
  const state = { serial: attributes.serial, md5: attributes.md5, lineage: attributes.lineage ?? null }
  if (attributes.state === '') throw invalid('state is empty', `${ATTRIBUTES}/state`)
  const contentOf = (name: ContentField) => {
    // The CLI sends an empty text when it has no JSON state.
    const text = attributes[name] || undefined
    return text === undefined ? undefined : (contents[name] ?? decoded(text, name))
  }
  const [content, json, outputs] = CONTENT_FIELDS.map(contentOf)
  if (json) await checkJsonState(ctx, json, `${ATTRIBUTES}/json-state`)
  const examined = content && (await examineContent(ctx, content))
  const raw = examined && {
    content,
    header: checkContent(ctx, examined, state, ATTRIBUTES),
    extraction: examined.extraction,
  }
  return {
    ...state,
    lineage: raw ? state.lineage || raw.header.lineage || null : state.lineage,
    force: attributes.force ?? false,
    raw,
    json,
    outputs: outputs ? readOutputs(ctx, outputs) : [],
  }
}

/** Node skips invalid characters, so the decoded length shows whether there were any. */
function decoded(text: string, name: string): Buffer {
  const content = Buffer.from(text, 'base64')
  if (content.length === base64Bytes(text)) return content
  const bare = text.replaceAll(/\s+/g, '')
  if (content.length === base64Bytes(bare)) return content
  const at = bare.search(/[^A-Za-z0-9+/_=-]/)
  const character = JSON.stringify(String.fromCodePoint(bare.codePointAt(at) ?? 0))
  const fault = at === -1 ? 'it is truncated, or has data after its padding' : `it contains ${character}`
  throw invalid(`${name} is not valid base64: ${fault}`, `${ATTRIBUTES}/${name}`)
}

function base64Bytes(text: string) {
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === 0x3d) end--
  return end % 4 === 1 ? -1 : Math.floor((end * 3) / 4)
}

function readOutputs(ctx: Ctx, content: Buffer) {
  const pointer = `${ATTRIBUTES}/json-state-outputs`
  let parsed: unknown
  try {
    parsed = parseExact(content.toString('utf8'))
  } catch (error) {
    throw invalid(`json-state-outputs is not valid JSON: ${error instanceof Error ? error.message : ''}`, pointer)
  }
  try {
    return sealOutputs(ctx, parsed === null ? [] : outputsFromJson(parsed))
  } catch (error) {
    if (error instanceof AppError) throw invalid(`json-state-outputs: ${error.message}`, pointer)
    if (error instanceof RangeError) throw invalid('json-state-outputs is nested too deep', pointer)
    throw error
  }
}

/** The columns of a workspace's locked row that say whether its states depend on its lock. */
type LockedStates = CurrentStates & Pick<WorkspaceRow, 'id' | 'organization_id' | 'pending_state_version_id'>

/** Settles the states after the release of a lock: makes the last snapshot current and discards a pending version. */
export async function settleStates(ctx: TransactionCtx, workspace: LockedStates) {
  if (workspace.latest_state_version_id !== workspace.current_state_version_id) {
    await store.promoteLatest(ctx.db, workspace.id)
    announceVersion(ctx, workspace, workspace.latest_state_version_id)
  }
  await discardPending(ctx, workspace)
}

/** Discards the pending version, unless the current lock holder created it: its client no longer holds the lock. */
export async function discardPending(
  ctx: TransactionCtx,
  workspace: Pick<LockedStates, 'id' | 'organization_id' | 'pending_state_version_id'>,
) {
  if (workspace.pending_state_version_id === null) return
  await store.discardPendingVersion(ctx.db, workspace.id)
  announceVersion(ctx, workspace, workspace.pending_state_version_id)
}

function announceVersion(ctx: Ctx, workspace: Pick<LockedStates, 'id' | 'organization_id'>, id: string | null) {
  if (id === null) return
  announceVersions(ctx, [{ id, workspace_id: workspace.id, organization_id: workspace.organization_id }])
}

/** Seconds between the snapshots that the CLI stores during an apply. The CLI reads it from any JSON:API response with a state version. */
export const SNAPSHOT_INTERVAL = { 'x-terraform-snapshot-interval': '30' }
