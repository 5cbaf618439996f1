import type { Identifier } from '@groundstate/contract/json-api'
import type { TagLinkage } from '@groundstate/contract/tags'
import type { Ctx } from '../../../app.ts'
import { audited, recordAudits } from '../../../audit/record.ts'
import { seesEveryWorkspace } from '../../../auth/access-context.ts'
import { announce, workspaceNotice } from '../../../changes/announce.ts'
import { type Page, transact } from '../../../db/db.ts'
import { requireOrganization, requirePart } from '../../organizations/organizations/access.ts'
import {
  type TagChange,
  addFlatTags,
  addTagKeys,
  changeTagBindings,
  readTagKeys,
  tagsAudit,
} from '../../organizations/tags/service.ts'
import { listTagBindings } from '../../organizations/tags/store.ts'
import { requireWorkspace, requireWorkspaces } from '../workspaces/access.ts'
import * as store from './store.ts'

export async function listWorkspaceTagBindings(ctx: Ctx, workspaceId: string) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  return listTagBindings(ctx.db, { organizationId: workspace.organization_id, workspaceId })
}

export async function listWorkspaceEffectiveTagBindings(ctx: Ctx, workspaceId: string) {
  await requireWorkspace(ctx, workspaceId, 'workspace:read')
  return store.listEffectiveTagBindings(ctx.db, [workspaceId])
}

/** Effective tag bindings by workspace id. The caller has authorised the workspaces. */
export async function listEffectiveTagBindings(ctx: Ctx, workspaceIds: readonly string[]) {
  return Map.groupBy(await store.listEffectiveTagBindings(ctx.db, workspaceIds), (binding) => binding.for_id)
}

export async function changeWorkspaceTagBindings(ctx: Ctx, workspaceId: string, change: TagChange) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'tags:manage')
  const target = { organizationId: workspace.organization_id, workspaceId, name: workspace.name }
  return changeTagBindings(ctx, target, change)
}

export async function listWorkspaceTags(
  ctx: Ctx,
  workspaceId: string,
  query: { page: Page; name: string | undefined },
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  const tags = await store.listWorkspaceTags(ctx.db, ctx.actor, workspaceId, query)
  return { ...tags, organization: workspace.organization_name }
}

export async function listTagValues(
  ctx: Ctx,
  organizationName: string,
  { page, q }: { page: Page; q?: string | undefined },
) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const filter = { organizationId: organization.id, seesAll: seesEveryWorkspace(organization.access), q }
  return store.listTagValues(ctx.db, ctx.actor, filter, page)
}

export async function listTags(
  ctx: Ctx,
  organizationName: string,
  { page, q, exclude }: { page: Page; q: string | undefined; exclude: string | undefined },
) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const filter = { organizationId: organization.id, q, exclude }
  return { ...(await store.listTags(ctx.db, ctx.actor, filter, page)), organization: organization.name }
}

export async function addWorkspaceTags(ctx: Ctx, workspaceId: string, tags: readonly TagLinkage[]) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'tags:manage')
  const target = { organizationId: workspace.organization_id, workspaceId }
  const event = tagsAudit(tagged(workspace), 'add_tags', tags)
  await audited(ctx, event, (ctx) => addFlatTags(ctx, target, tags, '/data'))
}

export async function removeWorkspaceTags(ctx: Ctx, workspaceId: string, tags: readonly TagLinkage[]) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'tags:manage')
  const keys = await readTagKeys(ctx, workspace.organization_id, { tags, pointer: '/data' })
  const event = tagsAudit(tagged(workspace), 'remove_tags', keys)
  await audited(ctx, event, (ctx) => store.deleteFlatTags(ctx.db, workspaceId, keys))
}

export async function deleteTags(ctx: Ctx, organizationName: string, tags: readonly Identifier[]) {
  const { id, name } = await requireOrganization(ctx, organizationName, 'tags:manage')
  const tagIds = tags.map((tag) => tag.id)
  const linkages = tagIds.map((id) => ({ type: 'tags' as const, id }))
  const keys = await readTagKeys(ctx, id, { tags: linkages, pointer: '/data' })
  await deleteFromWorkspaces(ctx, { id, name }, keys, (ctx) => store.deleteTags(ctx.db, id, tagIds))
}

/** Deletes tags with certain values, by the ids that `listTagValues` gives. Projects keep theirs. */
export async function deleteTagValues(ctx: Ctx, organizationName: string, tags: readonly Identifier[]) {
  const organization = await requireOrganization(ctx, organizationName, 'tags:manage')
  const values = tags.map((tag) => {
    const [tagId = '', ...value] = tag.id.split('=')
    return { tagId, value: value.join('=') }
  })
  const linkages = values.map(({ tagId }) => ({ type: 'tags' as const, id: tagId }))
  const keys = await readTagKeys(ctx, organization.id, { tags: linkages, pointer: '/data' })
  const deleted = keys.map((key, index) => ({ key, value: values[index]?.value ?? '' }))
  await deleteFromWorkspaces(ctx, organization, deleted, (ctx) =>
    store.deleteTagValues(ctx.db, organization.id, values),
  )
}

async function deleteFromWorkspaces(
  ctx: Ctx,
  { id, name }: { id: string; name: string },
  tags: readonly unknown[],
  remove: (ctx: Ctx) => Promise<readonly string[]>,
) {
  const event = tagsAudit({ type: 'organization', id, name, organizationId: id }, 'remove_tags', tags)
  await audited(ctx, event, async (ctx) => {
    const workspaces = await remove(ctx)
    announce(ctx, ...workspaces.map((workspace) => workspaceNotice({ id: workspace, organization_id: id })))
  })
}

/** Adds a flat tag to workspaces: to all of them or to none. */
export async function addWorkspacesToTag(ctx: Ctx, tagId: string, identifiers: readonly Identifier[]) {
  const access = { noun: 'tag', read: 'organization:read', permission: 'organization:read' } as const
  const tag = await requirePart(ctx, await store.findTag(ctx.db, tagId), access)
  const { organization_id: organizationId } = tag
  const workspaces = await requireWorkspaces(ctx, { organizationId, permission: 'tags:manage' }, identifiers)
  await transact(ctx, async (ctx) => {
    const workspaceIds = workspaces.map(({ id }) => id)
    const pointerOf = (_: string, id: string) => `/data/${workspaceIds.indexOf(id)}/id`
    await addTagKeys(ctx, { organizationId, workspaceIds }, { keys: [tag.key], pointerOf })
    const events = workspaces.map((workspace) => tagsAudit(tagged(workspace), 'add_tags', [tag.key]))
    await recordAudits(ctx, events)
  })
}

function tagged({ id, name, organization_id }: { id: string; name: string; organization_id: string }) {
  return { type: 'workspace' as const, id, name, organizationId: organization_id }
}
