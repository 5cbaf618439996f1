import type { TagBindingInput } from '@groundstate/contract/tags'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import { listTeamIds } from '../projects/store.ts'
import { tagsAudit } from './audit.ts'
import * as store from './store.ts'

/** How a change treats existing bindings: `merge` keeps other keys, `replace` removes them. */
export type TagChange = { change: 'merge' | 'replace'; bindings: readonly TagBindingInput[] }

/** Changes the tags of a workspace or project and returns all that it has then. The caller has authorised the change. */
export async function changeTagBindings(
  ctx: Ctx,
  { name, ...target }: store.TagTarget & { name: string },
  { change, bindings }: TagChange,
) {
  return transact(ctx, async (ctx) => {
    await writeTagBindings(ctx, target, { change, bindings, pointer: '/data' })
    const action = change === 'merge' ? 'add_tags' : 'replace_tags'
    await recordAudit(ctx, tagsAudit({ ...(await subject(ctx, target)), name }, action, bindings))
    return store.listTagBindings(ctx.db, target)
  })
}

async function subject(ctx: TransactionCtx, target: store.TagTarget) {
  const { organizationId } = target
  if ('workspaceId' in target) {
    return { organizationId, type: 'workspace' as const, id: target.workspaceId }
  }
  const id = target.projectId
  return { organizationId, type: 'project' as const, id, teams: await listTeamIds(ctx.db, id) }
}

/** Gives the target exactly these tags, as a relation in its own body asks. The caller has authorised the change. */
export async function replaceTagBindings(
  ctx: TransactionCtx,
  target: store.TagTarget,
  bindings: readonly TagBindingInput[],
) {
  const pointer = '/data/relationships/tag-bindings/data'
  await writeTagBindings(ctx, target, { change: 'replace', bindings, pointer })
}

/** Binds keys without a value to a workspace; a key that is bound already keeps its value. */
export async function addTagKeys(
  ctx: TransactionCtx,
  target: { organizationId: string; workspaceId: string },
  { keys, pointer }: { keys: readonly string[]; pointer: string },
) {
  await checkFixedKeys(ctx, target.workspaceId, { keys, pointer })
  const bindings = [...new Set(keys)].map((key) => ({ key, value: '' }))
  const flat = rows(ctx, target, bindings).map((row) => ({ ...row, is_binding: false }))
  await store.upsertTagBindings(ctx.db, flat, { keep: true })
}

async function writeTagBindings(
  ctx: TransactionCtx,
  target: store.TagTarget,
  { change, bindings, pointer }: TagChange & { pointer: string },
) {
  const keys = bindings.map((binding) => binding.key)
  const repeated = keys.findIndex((key, index) => keys.indexOf(key) < index)
  if (repeated >= 0) throw invalid(`key ${keys[repeated]} stands twice`, `${pointer}/${repeated}/attributes/key`)
  if ('workspaceId' in target) await checkFixedKeys(ctx, target.workspaceId, { keys, pointer })
  if (change === 'replace') await store.deleteOtherTagBindings(ctx.db, target, keys)
  await store.upsertTagBindings(ctx.db, rows(ctx, target, bindings), { keep: false })
}

/** Throws `invalid` for a reserved key whose value workspaces must take from their project. */
async function checkFixedKeys(
  ctx: Ctx,
  workspaceId: string,
  { keys, pointer }: { keys: readonly string[]; pointer: string },
) {
  if (keys.length === 0) return
  const [fixed] = await store.listFixedKeys(ctx.db, workspaceId, keys)
  if (!fixed) return
  throw invalid(
    `key ${fixed.key} is reserved: the project sets its value, and workspaces can't override it`,
    `${pointer}/${keys.indexOf(fixed.key)}/attributes/key`,
  )
}

function rows(ctx: Ctx, target: store.TagTarget, bindings: readonly TagBindingInput[]) {
  return bindings.map(({ key, value }) => ({
    id: ctx.newId('tb'),
    organization_id: target.organizationId,
    workspace_id: 'workspaceId' in target ? target.workspaceId : null,
    project_id: 'projectId' in target ? target.projectId : null,
    key,
    value,
    is_binding: true,
    created_at: ctx.now(),
  }))
}
