import type { UpdateVariable, UpdateVariables } from '@groundstate/contract/variables'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { badRequest, invalid, notFound } from '../../../errors.ts'
import { requireVariableWorkspace, requireWritableVariables, type WorkspaceVariableKey } from './access.ts'
import { variableAudit } from './audit.ts'
import { checkKey, refuseTakenKey } from './key.ts'
import * as store from './store.ts'
import { newVersionId, valueColumns } from './value.ts'

export async function updateWorkspaceVariable(ctx: Ctx, key: WorkspaceVariableKey, input: UpdateVariable) {
  const workspace = await requireVariableWorkspace(ctx, key)
  const event = variableAudit(workspace.organization_id, 'update', { changes: input })
  return audited(ctx, event, (ctx) => changeVariable(ctx, { workspaceId: workspace.id }, { id: key.id, input }))
}

/** The largest number of variables in one request. */
const MAX_CHANGES = 1000

/**
 * Changes several variables, all or none. Throws `bad-request` for too many, `invalid` for one of another workspace.
 */
export async function updateWorkspaceVariables(ctx: Ctx, workspaceId: string, changes: UpdateVariables) {
  const workspace = await requireWritableVariables(ctx, workspaceId)
  if (changes.length > MAX_CHANGES)
    throw badRequest(`these are ${changes.length} variables, at most ${MAX_CHANGES} are taken`)
  await transact(ctx, async (ctx) => {
    const ids = changes.map(({ id }) => id)
    const known = new Set(await store.lockVariables(ctx.db, { workspaceId }, ids))
    for (const [index, { id, attributes = {} }] of changes.entries()) {
      if (!known.has(id)) throw invalid(`the workspace has no variable ${id}`, `/data/${index}/id`)
      const change = { id, input: attributes, pointer: `/data/${index}/attributes` }
      const event = variableAudit(workspace.organization_id, 'update', { changes: attributes })
      await audited(ctx, event, (ctx) => changeVariable(ctx, { workspaceId }, change))
    }
  })
}

/** Changes a variable; the caller has authorised it. A sensitive one stays so: its value must not become readable. */
export async function changeVariable(
  ctx: Ctx,
  owner: store.VariableOwner,
  { id, input, pointer = '/data/attributes' }: { id: string; input: UpdateVariable; pointer?: string },
) {
  return refuseTakenKey(input.key ?? '', pointer, () =>
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
