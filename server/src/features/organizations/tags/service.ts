import type { TagBindingInput, TagLinkage } from '@groundstate/contract/tags'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import { requireProject } from '../projects/service.ts'
import { requireWorkspace } from '../../workspaces/workspaces/service.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'

export async function listWorkspaceTagBindings(ctx: Ctx, workspaceId: string) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  return store.listTagBindings(ctx.db, { organizationId: workspace.organization_id, workspaceId })
}

export async function listProjectEffectiveTagBindings(ctx: Ctx, projectId: string) {
  await requireProject(ctx, projectId, 'project:read')
  return store.listProjectsTagBindings(ctx.db, [projectId])
}

export async function listProjectTagBindings(ctx: Ctx, projectId: string) {
  const project = await requireProject(ctx, projectId, 'project:read')
  return store.listTagBindings(ctx.db, { organizationId: project.organization_id, projectId })
}

/** What binds to the workspaces, their projects' tags included, by workspace id. The caller has authorised them. */
export async function listEffectiveTagBindings(ctx: Ctx, workspaceIds: readonly string[]) {
  const bindings = await store.listEffectiveTagBindings(ctx.db, workspaceIds)
  return Map.groupBy(bindings, (binding) => binding.for_id)
}

/** What binds to the projects' workspaces, by project id. The caller has authorised them. */
export async function listEffectiveProjectTagBindings(ctx: Ctx, projectIds: readonly string[]) {
  const bindings = await store.listProjectsTagBindings(ctx.db, projectIds)
  return Map.groupBy(bindings, (binding) => binding.for_id)
}

export async function listWorkspaceEffectiveTagBindings(ctx: Ctx, workspaceId: string) {
  await requireWorkspace(ctx, workspaceId, 'workspace:read')
  return store.listEffectiveTagBindings(ctx.db, [workspaceId])
}

/** The verbs of the audit trail. */
const CHANGES = { merge: 'add_tags', replace: 'replace_tags' } as const satisfies Record<TagChange, string>

/** How a change treats what is bound already: `merge` keeps other keys, `replace` removes them. */
export type TagChange = 'merge' | 'replace'

export async function changeWorkspaceTagBindings(
  ctx: Ctx,
  workspaceId: string,
  { change, bindings }: { change: TagChange; bindings: readonly TagBindingInput[] },
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'tags:manage')
  const target = { organizationId: workspace.organization_id, workspaceId }
  return transact(ctx, async (ctx) => {
    await writeTagBindings(ctx, target, { change, bindings, pointer: '/data' })
    await recordAudit(ctx, {
      organizationId: workspace.organization_id,
      action: CHANGES[change],
      resource: { type: 'workspace', id: workspaceId },
      meta: { name: workspace.name, tags: bindings },
    })
    return store.listTagBindings(ctx.db, target)
  })
}

export async function changeProjectTagBindings(
  ctx: Ctx,
  projectId: string,
  { change, bindings }: { change: TagChange; bindings: readonly TagBindingInput[] },
) {
  const project = await requireProject(ctx, projectId, 'tags:manage')
  const target = { organizationId: project.organization_id, projectId }
  return transact(ctx, async (ctx) => {
    await writeTagBindings(ctx, target, { change, bindings, pointer: '/data' })
    await recordAudit(ctx, {
      organizationId: project.organization_id,
      action: CHANGES[change],
      resource: { type: 'project', id: projectId },
      meta: { name: project.name, tags: bindings },
    })
    return store.listTagBindings(ctx.db, target)
  })
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

async function writeTagBindings(
  ctx: TransactionCtx,
  target: store.TagTarget,
  { change, bindings, pointer }: { change: TagChange; bindings: readonly TagBindingInput[]; pointer: string },
) {
  const keys = bindings.map((binding) => binding.key)
  const repeated = keys.findIndex((key, index) => keys.indexOf(key) < index)
  if (repeated >= 0) throw invalid(`key ${keys[repeated]} stands twice`, `${pointer}/${repeated}/attributes/key`)
  if ('workspaceId' in target) await checkFixedKeys(ctx, target.workspaceId, { keys, pointer })
  if (change === 'replace') await store.deleteOtherTagBindings(ctx.db, target, keys)
  await store.upsertTagBindings(ctx.db, rows(ctx, target, bindings), { keep: false })
}

/** A reserved key may say that workspaces take the value of their project. */
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

/**
 * Adds flat tags, which are bindings without a value; a key that is bound already stays as it is. Throws `invalid` for an
 * id that no tag of the organization has. The caller has authorised the change.
 */
export async function addFlatTags(
  ctx: TransactionCtx,
  target: { organizationId: string; workspaceId: string },
  tags: readonly TagLinkage[],
  pointer: string,
) {
  const keys = await readTagKeys(ctx, target.organizationId, { tags, pointer })
  await checkFixedKeys(ctx, target.workspaceId, { keys, pointer })
  const bindings = [...new Set(keys)].map((key) => ({ key, value: '' }))
  await store.upsertTagBindings(ctx.db, rows(ctx, target, bindings), { keep: true })
}

/** The keys of tags that a body names by name or by id. Throws `invalid` at `pointer` for an id that no tag has. */
export async function readTagKeys(
  ctx: Ctx,
  organizationId: string,
  { tags, pointer }: { tags: readonly TagLinkage[]; pointer: string },
) {
  const ids = tags.flatMap((tag) => ('id' in tag ? [tag.id] : []))
  const known = ids.length === 0 ? [] : await store.listKeysOfTagIds(ctx.db, organizationId, ids)
  const keys = new Map(known.map((tag) => [tag.tag_id, tag.key]))
  return tags.map((tag, index) => {
    if ('attributes' in tag) return tag.attributes.name
    const key = keys.get(tag.id)
    if (key === undefined) throw invalid(`there is no tag ${tag.id} in the organization`, `${pointer}/${index}/id`)
    return key
  })
}

function rows(ctx: Ctx, target: store.TagTarget, bindings: readonly TagBindingInput[]) {
  return bindings.map(({ key, value }) => ({
    id: ctx.newId('tb'),
    organization_id: target.organizationId,
    workspace_id: 'workspaceId' in target ? target.workspaceId : null,
    project_id: 'projectId' in target ? target.projectId : null,
    key,
    value,
    created_at: ctx.now(),
  }))
}
