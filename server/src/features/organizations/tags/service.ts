import type {
  CreateReservedTagKey,
  TagBindingInput,
  TagLinkage,
  UpdateReservedTagKey,
} from '@groundstate/contract/tags'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudit } from '../../../audit/record.ts'
import { type Page, rejectTakenName, transact } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import { requireOrganization, requirePart } from '../organizations/access.ts'
import { listTeamsOfProject } from '../organizations/store.ts'
import * as store from './store.ts'

/** How a change treats existing bindings: `merge` keeps other keys, `replace` removes them, except flat tags. */
export type TagChange = { change: 'merge' | 'replace'; bindings: Bindings }
type Bindings = readonly TagBindingInput[]

/** Changes the tag bindings of a workspace or project and returns all its tags. The caller is authorised. */
export async function changeTagBindings(
  ctx: Ctx,
  { name, ...target }: store.TagTarget & { name: string },
  { change, bindings }: TagChange,
) {
  return transact(ctx, async (ctx) => {
    // Clients send the list back, which shows flat tags as bindings.
    const keep = change === 'replace' ? 'flat' : 'none'
    await writeTagBindings(ctx, target, { change, bindings, pointer: '/data', keep })
    const action = change === 'merge' ? 'add_tags' : 'replace_tags'
    const { organizationId } = target
    const subject =
      'workspaceId' in target
        ? { type: 'workspace' as const, id: target.workspaceId }
        : { type: 'project' as const, id: target.projectId, teams: await listTeamsOfProject(ctx.db, target.projectId) }
    await recordAudit(ctx, tagsAudit({ organizationId, name, ...subject }, action, bindings))
    return store.listTagBindings(ctx.db, target)
  })
}

/** Replaces the tag bindings of the target with those of the relation in its body; flat tags stay. The caller is authorised. */
export async function replaceTagBindings(ctx: TransactionCtx, target: store.TagTarget, bindings: Bindings) {
  const pointer = '/data/relationships/tag-bindings/data'
  await writeTagBindings(ctx, target, { change: 'replace', bindings, pointer, keep: 'none' })
}

type WorkspaceTarget = { organizationId: string; workspaceId: string }
type WorkspaceTargets = { organizationId: string; workspaceIds: readonly string[] }
/** `pointerOf` is the pointer to the item of a body that gives a key to a workspace. */
type KeysInBody = { keys: readonly string[]; pointerOf: (key: string, workspaceId: string) => string }

/** Binds keys without a value to workspaces; bound keys keep their values. */
export async function addTagKeys(
  ctx: TransactionCtx,
  { organizationId, workspaceIds }: WorkspaceTargets,
  { keys, pointerOf }: KeysInBody,
) {
  await checkFixedKeys(ctx, workspaceIds, { keys, pointerOf })
  const bindings = [...new Set(keys)].map((key) => ({ key, value: '' }))
  const flat = workspaceIds.flatMap((workspaceId) => rows(ctx, { organizationId, workspaceId }, bindings))
  const unbound = flat.map((row) => ({ ...row, is_binding: false }))
  await store.upsertTagBindings(ctx.db, unbound, { keep: 'all' })
}

type ChangeInBody = TagChange & { pointer: string; keep: 'flat' | 'none' }

async function writeTagBindings(
  ctx: TransactionCtx,
  target: store.TagTarget,
  { change, bindings, pointer, keep }: ChangeInBody,
) {
  const keys = bindings.map((binding) => binding.key)
  const repeated = keys.findIndex((key, index) => keys.indexOf(key) < index)
  if (repeated >= 0) throw invalid(`key ${keys[repeated]} is repeated`, `${pointer}/${repeated}/attributes/key`)
  const pointerOf = (key: string) => `${pointer}/${keys.indexOf(key)}/attributes/key`
  if ('workspaceId' in target) await checkFixedKeys(ctx, [target.workspaceId], { keys, pointerOf })
  if (change === 'replace') await store.deleteOtherTagBindings(ctx.db, target, keys)
  await store.upsertTagBindings(ctx.db, rows(ctx, target, bindings), { keep })
}

/** Throws `invalid` for a reserved key whose value the project sets. */
async function checkFixedKeys(ctx: Ctx, workspaceIds: readonly string[], { keys, pointerOf }: KeysInBody) {
  if (keys.length === 0) return
  const fixed = await store.findFixedKey(ctx.db, workspaceIds, keys)
  if (!fixed) return
  const { key, workspace_id: id, workspace_name: name } = fixed
  const detail = `key ${key} is reserved: the project of workspace ${name} sets its value, and workspaces can't override it`
  throw invalid(detail, pointerOf(key, id))
}

function rows(ctx: Ctx, target: store.TagTarget, bindings: Bindings) {
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

export async function listReservedTagKeys(ctx: Ctx, organizationName: string, page: Page) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  return store.listReservedTagKeys(ctx.db, organization.id, page)
}

export async function createReservedTagKey(ctx: Ctx, organizationName: string, input: CreateReservedTagKey) {
  const organization = await requireOrganization(ctx, organizationName, 'tags:manage')
  const now = ctx.now()
  const row = {
    id: ctx.newId('rtk'),
    organization_id: organization.id,
    key: input.key,
    disable_overrides: input['disable-overrides'] ?? false,
    created_at: now,
    updated_at: now,
  }
  return uniqueKey(() => audited(ctx, keyAudit('create', row), (ctx) => store.insertReservedTagKey(ctx.db, row)))
}

export async function updateReservedTagKey(ctx: Ctx, id: string, input: UpdateReservedTagKey) {
  const key = await requireReservedTagKey(ctx, id)
  const changes = { key: input.key, disable_overrides: input['disable-overrides'], updated_at: ctx.now() }
  const event = { ...keyAudit('update', key, input), settings: { before: key, columns: changes } }
  return uniqueKey(() => audited(ctx, event, (ctx) => store.updateReservedTagKey(ctx.db, id, changes)))
}

export async function deleteReservedTagKey(ctx: Ctx, id: string) {
  const key = await requireReservedTagKey(ctx, id)
  await audited(ctx, keyAudit('destroy', key), (ctx) => store.deleteReservedTagKey(ctx.db, id))
}

type AuditedKey = Pick<store.ReservedTagKeyRow, 'id' | 'organization_id' | 'key'>

function keyAudit(
  action: string,
  { id, organization_id: organizationId, key }: AuditedKey,
  changes?: object,
): AuditEvent {
  return { organizationId, action, resource: { type: 'reserved_tag_key', id }, meta: { key, changes }, notices: [] }
}

async function requireReservedTagKey(ctx: Ctx, id: string) {
  const access = { noun: 'reserved tag key', read: 'organization:read', permission: 'tags:manage' } as const
  return requirePart(ctx, await store.findReservedTagKey(ctx.db, id), access)
}

async function uniqueKey<T>(work: () => Promise<T>) {
  const detail = 'Key has already been taken'
  return rejectTakenName({ constraint: 'reserved_tag_keys_key', attribute: 'key', detail }, work)
}

type Tagged = {
  type: 'workspace' | 'project' | 'organization'
  id: string
  name: string
  organizationId: string
  teams?: readonly string[]
}

export function tagsAudit(
  { type, id, name, organizationId, teams = [] }: Tagged,
  action: 'add_tags' | 'replace_tags' | 'remove_tags',
  tags: readonly unknown[],
): AuditEvent {
  const notices: Record<Tagged['type'], AuditEvent['notices']> = {
    workspace: [{ type: 'workspaces', id, workspace: id }],
    project: [{ type: 'projects', id, teams }],
    // No page of the organization shows tags; its workspaces do.
    organization: [],
  }
  return { organizationId, action, resource: { type, id }, meta: { name, tags }, notices: notices[type] }
}

/** Adds flat tags (bindings without a value); bound keys keep theirs. The caller is authorised. */
export async function addFlatTags(
  ctx: TransactionCtx,
  target: WorkspaceTarget,
  tags: readonly TagLinkage[],
  pointer: string,
) {
  const { organizationId, workspaceId } = target
  const keys = await readTagKeys(ctx, organizationId, { tags, pointer })
  const pointerOf = (key: string) => `${pointer}/${keys.indexOf(key)}`
  await addTagKeys(ctx, { organizationId, workspaceIds: [workspaceId] }, { keys, pointerOf })
}

type TagsInBody = { tags: readonly TagLinkage[]; pointer: string }

/** The keys of tags that a body references by name or id. Throws `invalid` at `pointer` for an unknown id. */
export async function readTagKeys(ctx: Ctx, organizationId: string, { tags, pointer }: TagsInBody) {
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
