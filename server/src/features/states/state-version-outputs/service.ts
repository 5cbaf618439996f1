import { holdsSensitiveValue } from '@groundstate/contract/sensitive-values'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, recordAudit } from '../../../audit/record.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { readAccess } from '../../../auth/workspace-access.ts'
import { type Page, type Paged, transact } from '../../../db/db.ts'
import { notFound, unavailable } from '../../../errors.ts'
import { type KnownValues, recognised } from '../../../terraform-state/known-values.ts'
import { INLINE_BYTES } from '../../../workers/workers.ts'
import { readSensitiveValues } from '../../workspaces/variable-sets/sensitive-values.ts'
import { requireStateVersion, requireStateWorkspace } from '../state-versions/access.ts'
import { listOutputs } from '../state-versions/extraction-store.ts'
import { extractVersion } from '../state-versions/extraction.ts'
import {
  type Output,
  type OutputRow,
  comparableOutput,
  openOutput,
  openOutputJson,
} from '../state-versions/sealed-outputs.ts'
import { findVersion } from '../state-versions/store.ts'
import { type FoundOutput, countOutputs, findOutput } from './store.ts'

export async function listStateVersionOutputs(ctx: Ctx, stateVersionId: string, page: Page): Promise<Paged<Output>> {
  const version = await requireStateVersion(ctx, stateVersionId, 'state-outputs:read')
  // Outputs are part of the content and can only be read with it (INTERFACE §4.8.3).
  if (version.status === 'pending' || version.status === 'discarded') return { rows: [], total: 0 }
  if (version.status !== 'finalized') throw notFound('content of this state version')
  await checkExtracted(ctx, version)
  const [rows, valuesOf] = await Promise.all([
    listOutputs(ctx.db, version.id, page),
    readSensitiveValues(ctx, [version.workspace_id]),
  ])
  const isWhole = page.number === 1 && rows.length < page.size
  const total = isWhole ? rows.length : await countOutputs(ctx.db, version.id)
  return { rows: await marked(ctx, rows, valuesOf(version.workspace_id)), total }
}

/** An output; one that contains a value that the workspace marks sensitive is sensitive, even if the engine has lost the mark. */
async function markedOutput(ctx: Ctx, row: OutputRow, values: KnownValues | undefined): Promise<Output> {
  const output = openOutput(ctx, row)
  if (output.sensitive || !values) return output
  return { ...output, sensitive: await isSensitive(ctx, { row, value: output.value }, values) }
}

async function isSensitive(ctx: Ctx, { row, value }: { row: OutputRow; value: unknown }, values: KnownValues) {
  if (!values.former || row.value.length <= INLINE_BYTES) return holdsSensitiveValue(value, recognised(values))
  // The digests of many texts would stall the event loop.
  const outcome = await ctx.workers.holdsSensitive(openOutputJson(ctx, row), values)
  return !outcome.ok || outcome.value
}

async function marked(ctx: Ctx, rows: readonly OutputRow[], values: KnownValues | undefined) {
  return Promise.all(rows.map(async (row) => markedOutput(ctx, row, values)))
}

/** The outputs of several workspaces, each with its row. */
export async function markedOutputs<Row extends OutputRow & { workspace_id: string }>(ctx: Ctx, rows: readonly Row[]) {
  const valuesOf = await readSensitiveValues(ctx, [...new Set(rows.map((row) => row.workspace_id))])
  return Promise.all(
    rows.map(async (row) => ({ row, output: await markedOutput(ctx, row, valuesOf(row.workspace_id)) })),
  )
}

/** All outputs of the current state, since clients read only the first page. Empty if there is no state. */
export async function listCurrentOutputs(ctx: Ctx, workspaceId: string): Promise<Output[]> {
  const { current_state_version_id: id } = await requireStateWorkspace(ctx, workspaceId, 'state-outputs:read')
  if (id === null) return []
  const [listed, valuesOf] = await Promise.all([listOutputs(ctx.db, id), readSensitiveValues(ctx, [workspaceId])])
  let rows = listed
  if (rows.length === 0) {
    // The version may not have been extracted yet.
    await checkExtracted(ctx, await requireStateVersion(ctx, id, 'state-outputs:read'))
    rows = await listOutputs(ctx.db, id)
  }
  return marked(ctx, rows, valuesOf(workspaceId))
}

/** Extracts the outputs if the job has not done so yet: clients read them immediately after an apply. */
async function checkExtracted(ctx: Ctx, version: { id: string; status: string; resources_processed: boolean }) {
  if (version.status !== 'finalized' || version.resources_processed) return
  try {
    await extractVersion(ctx, version.id)
  } catch (error) {
    ctx.log.error({ err: error, version: version.id }, 'extraction on demand failed')
    throw unavailable(`service unavailable: the outputs of ${version.id} are being processed`, 1000)
  }
}

/** One output with its value. The audit trail records who reads a sensitive one. */
export async function showStateVersionOutput(ctx: Ctx, id: string): Promise<Output> {
  const row = await findOutput(ctx.db, ctx.actor, id)
  if (!row || row.status !== 'finalized') throw notFound('state version output')
  const { access, can } = readAccess(ctx.actor, row)
  if (can.size > 0) checkSignInPolicy(access)
  if (!can.has('state-outputs:read')) throw notFound('state version output')
  const valuesOf = await readSensitiveValues(ctx, row.sensitive ? [] : [row.workspace_id])
  const output = await markedOutput(ctx, row, valuesOf(row.workspace_id))
  if (output.sensitive) await transact(ctx, async (ctx) => recordAudit(ctx, sensitiveOutputAudit(row)))
  return output
}

/**
 * The names of the outputs that differ between two versions, extracted if necessary; a null id is the empty state before the first version.
 * Undefined if the outputs are unknown: content is deleted, encrypted, or has a format that the server does not read.
 */
export async function listChangedOutputs(
  ctx: Ctx,
  { beforeId, afterId }: { beforeId: string | null; afterId: string | null },
): Promise<ReadonlySet<string> | undefined> {
  if (beforeId === afterId) return new Set()
  const before = await comparableOutputs(ctx, beforeId)
  const after = before && (await comparableOutputs(ctx, afterId))
  if (!after) return undefined
  const names = new Set([...before.keys(), ...after.keys()])
  return new Set([...names].filter((name) => before.get(name) !== after.get(name)))
}

async function comparableOutputs(ctx: Ctx, id: string | null): Promise<ReadonlyMap<string, string> | undefined> {
  if (id === null) return new Map()
  await extractVersion(ctx, id)
  const version = await findVersion(ctx.db, id)
  if (version?.status !== 'finalized' || version.modules === null) return undefined
  const rows = await listOutputs(ctx.db, id)
  return new Map(rows.map((row) => [row.name, comparableOutput(ctx, row)]))
}

function sensitiveOutputAudit({ id, name, ...output }: FoundOutput): AuditEvent {
  return {
    organizationId: output.organization_id,
    action: 'read',
    resource: { type: 'state_version_output', id },
    meta: { workspace: output.workspace_id, state_version: output.state_version_id, name },
    notices: [],
  }
}
