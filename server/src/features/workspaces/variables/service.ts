import { createHash } from 'node:crypto'
import { sensitiveTexts } from '@groundstate/contract/sensitive-values'
import type { CreateVariable, UpdateVariable, UpdateVariables } from '@groundstate/contract/variables'
import type { App, Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudits } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { badRequest, invalid, notFound } from '../../../errors.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import { digestsOf, formerValueKey } from '../../../terraform-state/known-values.ts'
import { requireWorkspace, requireWorkspaceBy } from '../workspaces/access.ts'
import type { WorkspaceKey } from '../workspaces/store.ts'
import {
  type NoticedSet,
  type PlacedKey,
  type WorkspaceVariableKey,
  checkKey,
  rejectTakenKey,
  requireVariableWorkspace,
  requireWritableVariables,
  variableAudit,
} from './access.ts'
import * as store from './store.ts'

export async function createWorkspaceVariable(ctx: Ctx, workspaceId: string, input: CreateVariable) {
  const { organization_id: organizationId } = await requireWorkspace(ctx, workspaceId, 'variables:write')
  return createVariable(ctx, { workspaceId, organizationId }, input)
}

/** The owner of variables, and how its change is announced. */
type AuditedOwner = store.VariableOwner & { organizationId: string; set?: NoticedSet }
/** `pointer` is that of the item in the body. */
type NewVariable = { input: CreateVariable; pointer: string }
type VariableChange = { id: string; input: UpdateVariable | undefined; pointer: string }

/** Creates a variable; the caller has authorised it. Throws `invalid` for a taken or invalid key. */
export async function createVariable(ctx: Ctx, owner: AuditedOwner, input: CreateVariable) {
  const [row] = await transact(ctx, async (ctx) => createVariables(ctx, owner, [{ input, pointer: '/data' }]))
  if (!row) throw new Error('every new variable has a row')
  return row
}

/** As `createVariable`, for several; all or none. */
export async function createVariables(ctx: TransactionCtx, owner: AuditedOwner, variables: readonly NewVariable[]) {
  if (variables.length === 0) return []
  const keys = variables.map(({ input, pointer }) => ({ ...input, pointer: `${pointer}/attributes` }))
  for (const { category, key, pointer } of keys) checkKey(category, key, pointer)
  const rows = variables.map(({ input }) => newRow(ctx, owner, input))
  await rejectTakenKey(keys, () => store.insertVariables(ctx.db, rows))
  await recordAudits(ctx, rows.map(variableAudit(owner.organizationId, 'create', owner)))
  return rows
}

function newRow(ctx: Ctx, owner: store.VariableOwner, input: CreateVariable): store.VariableRow {
  const id = ctx.newId('var')
  const now = ctx.now()
  return {
    id,
    workspace_id: 'workspaceId' in owner ? owner.workspaceId : null,
    variable_set_id: 'variableSetId' in owner ? owner.variableSetId : null,
    key: input.key,
    category: input.category,
    ...valueColumns(ctx, { id, sensitive: input.sensitive ?? false, value: input.value ?? '' }),
    description: input.description ?? '',
    hcl: input.hcl ?? false,
    version_id: newVersionId(ctx),
    created_at: now,
    updated_at: now,
  }
}

export async function listWorkspaceVariables(ctx: Ctx, key: WorkspaceKey) {
  const workspace = await requireWorkspaceBy(ctx, key, 'variables:read')
  return store.listVariables(ctx.db, { workspaceId: workspace.id })
}

export async function showWorkspaceVariable(ctx: Ctx, workspaceId: string, id: string) {
  await requireWorkspace(ctx, workspaceId, 'variables:read')
  const variable = await store.findVariable(ctx.db, { workspaceId }, id)
  if (!variable) throw notFound('variable')
  return variable
}

export async function updateWorkspaceVariable(ctx: Ctx, key: WorkspaceVariableKey, input: UpdateVariable) {
  const { id: workspaceId, organization_id: organizationId } = await requireVariableWorkspace(ctx, key)
  return updateVariable(ctx, { workspaceId, organizationId }, { id: key.id, input })
}

const MAX_CHANGES = 1000

/** Changes several variables, all or none. Throws `bad-request` for too many, `invalid` for one of another workspace. */
export async function updateWorkspaceVariables(ctx: Ctx, workspaceId: string, changes: UpdateVariables) {
  const workspace = await requireWritableVariables(ctx, workspaceId)
  if (changes.length > MAX_CHANGES)
    throw badRequest(`too many variables: ${changes.length}, at most ${MAX_CHANGES} are allowed`)
  const owner = { workspaceId, organizationId: workspace.organization_id }
  const inputs = changes.map(({ id, attributes = {} }, index) => ({ id, input: attributes, pointer: `/data/${index}` }))
  await transact(ctx, async (ctx) => updateVariables(ctx, owner, inputs))
}

/** Changes a variable; the caller has authorised it. A sensitive one stays sensitive, since its value must not become readable. */
export async function updateVariable(
  ctx: Ctx,
  owner: AuditedOwner,
  { id, input }: { id: string; input: UpdateVariable },
) {
  return transact(ctx, async (ctx) => {
    const existing = await store.lockVariables(ctx.db, owner, [id])
    if (existing.length === 0) throw notFound('variable')
    const [row] = await writeChanges(ctx, owner, { existing, changes: [{ id, input, pointer: '/data' }] })
    if (!row) throw new Error('every changed variable has a row')
    return row
  })
}

/** As `updateVariable`, for several; all or none. Throws `invalid` for one of another owner. */
export async function updateVariables(ctx: TransactionCtx, owner: AuditedOwner, changes: readonly VariableChange[]) {
  if (changes.length === 0) return
  const ids = changes.map(({ id }) => id)
  const existing = await store.lockVariables(ctx.db, owner, ids)
  const known = new Set(existing.map(({ id }) => id))
  const missing = changes.find(({ id }) => !known.has(id))
  const noun = 'workspaceId' in owner ? 'workspace' : 'set'
  if (missing) throw invalid(`the ${noun} has no variable ${missing.id}`, `${missing.pointer}/id`)
  await writeChanges(ctx, owner, { existing, changes })
}

type LockedChanges = { existing: readonly store.VariableRow[]; changes: readonly VariableChange[] }

/** Returns the changed rows. Several changes of a variable are one row, whose key is that of the last. */
async function writeChanges(ctx: TransactionCtx, owner: AuditedOwner, { existing, changes }: LockedChanges) {
  const { organizationId, set } = owner
  const rows = new Map(existing.map((row) => [row.id, row]))
  const changed = new Map<string, store.VariableRow>()
  const keys = new Map<string, PlacedKey>()
  const events: AuditEvent[] = []
  for (const { id, input, pointer } of changes) {
    const current = changed.get(id) ?? rows.get(id)
    if (!current || !input) continue
    const row = changedRow(ctx, current, { input, pointer: `${pointer}/attributes` })
    changed.set(id, row)
    const isRenamed = row.key !== current.key || row.category !== current.category
    if (isRenamed) keys.set(id, { ...row, pointer: `${pointer}/attributes` })
    const event = variableAudit(organizationId, 'update', { changes: input, set })(row)
    events.push({ ...event, settings: { before: current, columns: row } })
  }
  const written = [...changed.values()]
  await rejectTakenKey([...keys.values()], () => store.updateVariables(ctx.db, written))
  const replaced = existing.filter((row) => {
    const now = changed.get(row.id)
    return now && (now.sealed_value !== row.sealed_value || now.hcl !== row.hcl)
  })
  await keepFormerValues(ctx, owner, { replaced, current: written })
  await recordAudits(ctx, events)
  return written
}

type Replaced = { replaced: readonly store.VariableRow[]; current?: readonly store.VariableRow[] }

/** Stores digests of the sensitive values that are no longer those of variables: they are masked for as long as they may be deployed. */
export async function keepFormerValues(
  ctx: TransactionCtx,
  owner: store.VariableOwner & { organizationId: string },
  { replaced, current = [] }: Replaced,
) {
  const textsOf = (rows: readonly store.VariableRow[]) =>
    sensitiveTexts(rows.flatMap((row) => (row.sensitive ? { value: openValue(ctx, row), hcl: row.hcl } : [])))
  const before = textsOf(replaced)
  if (before.size === 0) return
  const still = textsOf(current)
  const former = [...before].filter((text) => !still.has(text))
  if (former.length === 0) return
  const { organizationId } = owner
  const digests = digestsOf(former, formerValueKey(ctx.secrets, organizationId))
  await store.insertFormerValues(ctx.db, owner, { organizationId, digests, now: ctx.now() })
}

function changedRow(
  ctx: Ctx,
  current: store.VariableRow,
  { input, pointer }: { input: UpdateVariable; pointer: string },
): store.VariableRow {
  if (current.sensitive && input.sensitive === false) {
    const detail = `the variable ${current.key} cannot become non-sensitive: delete it and create it again`
    throw invalid(detail, `${pointer}/sensitive`)
  }
  const category = input.category ?? current.category
  const key = input.key ?? current.key
  checkKey(category, key, pointer)
  const sensitive = input.sensitive ?? current.sensitive
  const value = input.value ?? (sensitive === current.sensitive ? undefined : (current.value ?? ''))
  return {
    ...current,
    key,
    category,
    ...(value !== undefined && valueColumns(ctx, { id: current.id, sensitive, value })),
    description: input.description === undefined ? current.description : (input.description ?? ''),
    hcl: input.hcl ?? current.hcl,
    version_id: newVersionId(ctx),
    updated_at: ctx.now(),
  }
}

export async function deleteWorkspaceVariable(ctx: Ctx, key: WorkspaceVariableKey) {
  const { id: workspaceId, organization_id: organizationId } = await requireVariableWorkspace(ctx, key)
  await destroyVariable(ctx, { workspaceId, organizationId }, key.id)
}

/** Deletes a variable; the caller has authorised it. Throws `not-found` when the owner has no such variable. */
export async function destroyVariable(ctx: Ctx, owner: AuditedOwner, id: string) {
  await audited(ctx, variableAudit(owner.organizationId, 'destroy', owner), async (ctx) => {
    const row = await store.deleteVariable(ctx.db, owner, id)
    if (!row) throw notFound('variable')
    await keepFormerValues(ctx, owner, { replaced: [row] })
    return row
  })
}

/** The columns of a value. A sensitive value is sealed under the variable's id. */
function valueColumns(
  { secrets }: Pick<App, 'secrets'>,
  { id, sensitive, value }: { id: string; sensitive: boolean; value: string },
) {
  return sensitive
    ? { sensitive, value: null, sealed_value: secrets.seal(value, sealContext(id)) }
    : { sensitive, value, sealed_value: null }
}

export function openValue(
  { secrets }: Pick<App, 'secrets'>,
  row: Pick<store.VariableRow, 'id' | 'value' | 'sealed_value'>,
) {
  return row.sealed_value === null ? (row.value ?? '') : secrets.openText(row.sealed_value, sealContext(row.id))
}

export const sealedVariable = sealedColumn('variables.sealed_value', ['id'], ({ id }) => `variables/${id}/value`)

function sealContext(id: string) {
  return sealedVariable.context({ id })
}

function newVersionId({ newId }: Pick<App, 'newId'>) {
  return createHash('sha256').update(newId('version')).digest('hex')
}
