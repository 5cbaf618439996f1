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
import { type WorkspaceRow, lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { announceVersions, stateVersionAudit } from './audit.ts'
import { type ReadableHeader, checkContent, checkJsonState, examineContent } from './content-rules.ts'
import { dropRefused, storeContent } from './content.ts'
import { examinedColumns, extractionJob, unprocessedColumns } from './extraction.ts'
import { type CheckedWorkspace, type NewVersion, insertStateVersion } from './new-version-store.ts'
import { type DisplayContext, displayContextOf } from './resource.ts'
import { type SealedOutput, sealOutputs } from './sealed-outputs.ts'
import { checkHoldsLock, checkSerial, latestState } from './serial.ts'
import { discardPendingVersion, promoteLatest } from './store.ts'
import * as store from './store.ts'

type StateVersionFilter = { organization: string; workspace: string; status: z.infer<typeof listedStatus> | undefined }

/** The versions of one workspace, the newest first. */
export async function listStateVersions(
  ctx: Ctx,
  { organization, workspace: name, status }: StateVersionFilter,
  page: Page,
): Promise<Paged<store.PresentedRow> & { display: DisplayContext }> {
  const workspace = await requireWorkspaceBy(ctx, { organization, name }, 'workspace:read')
  if (!workspace.can.has('state-versions:read')) throw notFound('workspace')
  const [rows, total] = await Promise.all([
    store.listStateVersions(ctx.db, workspace.id, { page, status }),
    status === undefined ? workspace.state_version_count : store.countStateVersions(ctx.db, workspace.id, status),
  ])
  return { rows, total, display: displayContextOf(workspace) }
}

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

const ATTRIBUTES = '/data/attributes'

/** The attributes that hold a content, as base64. */
export const CONTENT_FIELDS = ['state', 'json-state', 'json-state-outputs'] as const
type ContentField = (typeof CONTENT_FIELDS)[number]

/** A request for a new version. Long contents come as bytes, by name; ignore their texts in the attributes then. */
type NewVersionInput = CreateStateVersion & { contents: Partial<Record<ContentField, Buffer>> }

/** A request for a new version, decoded and free of contradictions. */
type NewState = {
  serial: number
  md5: string
  /** Null when it is not known; empty when the request for a pending version says that there is none. */
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
  const given = (name: ContentField, text: string) => contents[name] ?? decoded(text, name)
  const content = typeof attributes.state === 'string' ? given('state', attributes.state) : undefined
  // An empty text is what the command line sends when it has no JSON state.
  const json = attributes['json-state'] ? given('json-state', attributes['json-state']) : undefined
  const outputs = attributes['json-state-outputs']
    ? given('json-state-outputs', attributes['json-state-outputs'])
    : undefined
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

/** Node skips characters that are not base64; the length of what it decoded shows whether it did. */
function decoded(text: string, name: string): Buffer {
  const content = Buffer.from(text, 'base64')
  if (content.length === base64Bytes(text)) return content
  const bare = text.replaceAll(/\s+/g, '')
  if (content.length === base64Bytes(bare)) return content
  const at = bare.search(/[^A-Za-z0-9+/_=-]/)
  const fault = at === -1 ? 'it ends within a byte, or goes on after its padding' : `it has ${shownCharacter(bare, at)}`
  throw invalid(`${name} is not valid base64: ${fault}`, `${ATTRIBUTES}/${name}`)
}

function shownCharacter(text: string, at: number) {
  return JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))
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

/** The columns of a workspace's row that say whether its states depend on its lock, as they are under the row lock. */
type LockedStates = Pick<
  WorkspaceRow,
  'id' | 'organization_id' | 'latest_state_version_id' | 'current_state_version_id' | 'pending_state_version_id'
>

/**
 * Settles the states of a workspace whose lock was released, forced releases and the ends of runs included: the last snapshot
 * becomes the current state, and a version that awaits its content is discarded.
 */
export async function settleStates(ctx: TransactionCtx, workspace: LockedStates) {
  if (workspace.latest_state_version_id !== workspace.current_state_version_id) {
    await promoteLatest(ctx.db, workspace.id)
    announceVersion(ctx, workspace, workspace.latest_state_version_id)
  }
  await discardPending(ctx, workspace)
}

/**
 * Discards the version that awaits its content, unless the present holder of the lock created it. Its client has vanished, or
 * has lost the lock under which it may write.
 */
export async function discardPending(
  ctx: TransactionCtx,
  workspace: Pick<LockedStates, 'id' | 'organization_id' | 'pending_state_version_id'>,
) {
  if (workspace.pending_state_version_id === null) return
  await discardPendingVersion(ctx.db, workspace.id)
  announceVersion(ctx, workspace, workspace.pending_state_version_id)
}

function announceVersion(
  ctx: TransactionCtx,
  workspace: Pick<LockedStates, 'id' | 'organization_id'>,
  id: string | null,
) {
  const { id: workspaceId, organization_id: organizationId } = workspace
  if (id !== null) announceVersions(ctx, [{ id, workspace_id: workspaceId, organization_id: organizationId }])
}

/**
 * A header of responses that have state versions: the seconds between the snapshots that a command line stores while it applies. It
 * reads the header from any of these responses whose type is that of JSON:API.
 */
export const SNAPSHOT_INTERVAL = { 'x-terraform-snapshot-interval': '30' }
