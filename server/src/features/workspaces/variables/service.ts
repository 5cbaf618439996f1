import { createHash } from 'node:crypto'
import type { CreateVariable, UpdateVariable, UpdateVariables } from '@groundstate/contract/variables'
import type { App, Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { badRequest, invalid, notFound } from '../../../errors.ts'
import { requireWorkspace, requireWorkspaceBy } from '../workspaces/access.ts'
import type { WorkspaceKey } from '../workspaces/store.ts'
import {
  type NoticedSet,
  type WorkspaceVariableKey,
  checkKey,
  rejectTakenKey,
  requireVariableWorkspace,
  requireWritableVariables,
  variableAudit,
} from './access.ts'
import * as store from './store.ts'

export async function createWorkspaceVariable(ctx: Ctx, workspaceId: string, input: CreateVariable) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:write')
  const event = variableAudit(workspace.organization_id, 'create')
  return audited(ctx, event, (ctx) => insertVariable(ctx, { workspaceId }, { input }))
}

/** Creates a variable; the caller has authorised it. Throws `invalid` for a taken or invalid key; `pointer` is that of the attributes. */
export async function insertVariable(
  ctx: Ctx,
  owner: store.VariableOwner,
  { input, pointer = '/data/attributes' }: { input: CreateVariable; pointer?: string },
) {
  checkKey(input.category, input.key, pointer)
  const id = ctx.newId('var')
  const now = ctx.now()
  const sensitive = input.sensitive ?? false
  return rejectTakenKey(input.key, pointer, () =>
    store.insertVariable(ctx.db, {
      id,
      workspace_id: 'workspaceId' in owner ? owner.workspaceId : null,
      variable_set_id: 'variableSetId' in owner ? owner.variableSetId : null,
      key: input.key,
      category: input.category,
      ...valueColumns(ctx, { id, sensitive, value: input.value ?? '' }),
      description: input.description ?? '',
      hcl: input.hcl ?? false,
      version_id: newVersionId(ctx),
      created_at: now,
      updated_at: now,
    }),
  )
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
  const workspace = await requireVariableWorkspace(ctx, key)
  const event = variableAudit(workspace.organization_id, 'update', { changes: input })
  return audited(ctx, event, (ctx) => changeVariable(ctx, { workspaceId: workspace.id }, { id: key.id, input }))
}

const MAX_CHANGES = 1000

/** Changes several variables, all or none. Throws `bad-request` for too many, `invalid` for one of another workspace. */
export async function updateWorkspaceVariables(ctx: Ctx, workspaceId: string, changes: UpdateVariables) {
  const workspace = await requireWritableVariables(ctx, workspaceId)
  if (changes.length > MAX_CHANGES)
    throw badRequest(`too many variables: ${changes.length}, at most ${MAX_CHANGES} are allowed`)
  await transact(ctx, async (ctx) => {
    const ids = changes.map(({ id }) => id)
    const existing = new Set(await store.lockVariables(ctx.db, { workspaceId }, ids))
    for (const [index, { id, attributes = {} }] of changes.entries()) {
      if (!existing.has(id)) throw invalid(`the workspace has no variable ${id}`, `/data/${index}/id`)
      const change = { id, input: attributes, pointer: `/data/${index}/attributes` }
      const event = variableAudit(workspace.organization_id, 'update', { changes: attributes })
      await audited(ctx, event, (ctx) => changeVariable(ctx, { workspaceId }, change))
    }
  })
}

/** Changes a variable; the caller has authorised it. A sensitive one stays sensitive, since its value must not become readable. */
export async function changeVariable(
  ctx: Ctx,
  owner: store.VariableOwner,
  { id, input, pointer = '/data/attributes' }: { id: string; input: UpdateVariable; pointer?: string },
) {
  return rejectTakenKey(input.key ?? '', pointer, () =>
    transact(ctx, async (ctx) => {
      const current = await store.lockVariable(ctx.db, owner, id)
      if (!current) throw notFound('variable')
      if (current.sensitive && input.sensitive === false) {
        const detail = `the variable ${current.key} cannot become non-sensitive: delete it and create it again`
        throw invalid(detail, `${pointer}/sensitive`)
      }
      const category = input.category ?? current.category
      checkKey(category, input.key ?? current.key, pointer)
      const sensitive = input.sensitive ?? current.sensitive
      const value = input.value ?? (sensitive === current.sensitive ? undefined : (current.value ?? ''))
      const changed = await store.updateVariable(ctx.db, id, {
        key: input.key,
        category,
        ...(value !== undefined && valueColumns(ctx, { id, sensitive, value })),
        description: input.description === null ? '' : input.description,
        hcl: input.hcl ?? undefined,
        version_id: newVersionId(ctx),
        updated_at: ctx.now(),
      })
      if (!changed) throw notFound('variable')
      return changed
    }),
  )
}

export async function deleteWorkspaceVariable(ctx: Ctx, key: WorkspaceVariableKey) {
  const workspace = await requireVariableWorkspace(ctx, key)
  await destroyVariable(ctx, { workspaceId: workspace.id }, { id: key.id, organizationId: workspace.organization_id })
}

/** Deletes a variable; the caller has authorised it. Throws `not-found` when the owner has no such variable. */
export async function destroyVariable(
  ctx: Ctx,
  owner: store.VariableOwner,
  { id, organizationId, set }: { id: string; organizationId: string; set?: NoticedSet },
) {
  await audited(ctx, variableAudit(organizationId, 'destroy', { ...(set && { set }) }), async (ctx) => {
    const row = await store.deleteVariable(ctx.db, owner, id)
    if (!row) throw notFound('variable')
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

export function openValue({ secrets }: Pick<App, 'secrets'>, row: store.VariableRow) {
  return row.sealed_value === null ? (row.value ?? '') : secrets.openText(row.sealed_value, sealContext(row.id))
}

function sealContext(id: string) {
  return `variables/${id}/value`
}

function newVersionId({ newId }: Pick<App, 'newId'>) {
  return createHash('sha256').update(newId('version')).digest('hex')
}
