import { type CreateVariable, type UpdateVariable, variableKeyProblem } from '@groundstate/contract/variables'
import { createHash } from 'node:crypto'
import type { Ctx } from '../../../app.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import * as store from './store.ts'
import { audited } from '../../../audit/record.ts'

/**
 * Creates a variable on a workspace or in a set; the caller has authorised it. A sensitive value is sealed under the
 * variable's id and never answered again. Throws `invalid` for a key that is taken or that the engine could not read;
 * `pointer` is where the attributes stand in the body.
 */
export async function insertVariable(
  ctx: Ctx,
  owner: store.VariableOwner,
  { input, pointer = '/data/attributes' }: { input: CreateVariable; pointer?: string },
) {
  checkKey(input.category, input.key, pointer)
  const id = ctx.newId('var')
  const now = ctx.now()
  const sensitive = input.sensitive ?? false
  return unique(input.key, pointer, () =>
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

/** Changes a variable; the caller has authorised it. A sensitive one stays so: its value must not become readable. */
export async function changeVariable(
  ctx: Ctx,
  owner: store.VariableOwner,
  { id, input, pointer = '/data/attributes' }: { id: string; input: UpdateVariable; pointer?: string },
) {
  return unique(input.key ?? '', pointer, () =>
    transact(ctx, async (ctx) => {
      const current = await store.lockVariable(ctx.db, owner, id)
      if (!current) throw notFound('variable')
      if (current.sensitive && input.sensitive === false) {
        throw invalid(
          `the variable ${current.key} is sensitive and stays so: delete it and create it again`,
          `${pointer}/sensitive`,
        )
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

/** Deletes a variable; the caller has authorised it. Throws `not-found` when the owner has no such variable. */
export async function destroyVariable(
  ctx: Ctx,
  owner: store.VariableOwner,
  { id, organizationId }: { id: string; organizationId: string },
) {
  await audited(ctx, variableAudit(organizationId, 'destroy'), async (ctx) => {
    const row = await store.deleteVariable(ctx.db, owner, id)
    if (!row) throw notFound('variable')
    return row
  })
}

/** What the audit trail keeps of a change of a variable: which one, and what was set, but no value of any. */
export function variableAudit(organizationId: string, action: string, changes?: UpdateVariable) {
  return (row: store.VariableRow) => ({
    organizationId,
    action,
    resource: { type: 'variable', id: row.id },
    meta: {
      key: row.key,
      category: row.category,
      sensitive: row.sensitive,
      ...(row.workspace_id === null ? { variable_set: row.variable_set_id } : { workspace: row.workspace_id }),
      changes: changes && Object.keys(changes),
    },
  })
}

/** The value of a variable in the clear, for the run that needs it. */
export function openValue(ctx: Ctx, row: store.VariableRow) {
  return row.sealed_value === null ? (row.value ?? '') : ctx.secrets.openText(row.sealed_value, sealContext(row.id))
}

function valueColumns(ctx: Ctx, { id, sensitive, value }: { id: string; sensitive: boolean; value: string }) {
  return sensitive
    ? { sensitive, value: null, sealed_value: ctx.secrets.seal(value, sealContext(id)) }
    : { sensitive, value, sealed_value: null }
}

function sealContext(id: string) {
  return `variables/${id}/value`
}

function newVersionId(ctx: Ctx) {
  return createHash('sha256').update(ctx.newId('version')).digest('hex')
}

function checkKey(category: CreateVariable['category'], key: string, pointer: string) {
  const problem = variableKeyProblem(category, key)
  if (problem !== undefined) throw invalid(problem, `${pointer}/key`)
}

async function unique<T>(key: string, pointer: string, work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'variables_workspace_key') || isUniqueViolation(error, 'variables_variable_set_key')) {
      throw invalid(`Key has already been taken: there is a variable ${key} of this category`, `${pointer}/key`)
    }
    throw error
  }
}
