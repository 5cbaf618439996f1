import type { Identifier } from '@groundstate/contract/json-api'
import type { TagLinkage } from '@groundstate/contract/tags'
import type { Ctx } from '../../../app.ts'
import { visibleWorkspace } from '../../../auth/facts.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, invalid, notFound } from '../../../errors.ts'
import { listReadableOrganizations, requireOrganization } from '../../organizations/organizations/service.ts'
import { listReadableWorkspaces, requireWorkspace } from '../workspaces/service.ts'
import { addFlatTags, readTagKeys } from '../../organizations/tags/service.ts'
import * as store from '../../organizations/tags/store.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { type Page, pageOffset } from '../../../db/page.ts'

/** Flat tags of a workspace: those of its bindings that have no value. */
export async function listWorkspaceTags(
  ctx: Ctx,
  workspaceId: string,
  { page, name }: { page: Page; name: string | undefined },
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  const window = { limit: page.size, offset: pageOffset(page), name }
  return {
    ...(await store.listWorkspaceTags(ctx.db, workspaceId, window)),
    organization: workspace.organization_name,
  }
}

export async function addWorkspaceTags(ctx: Ctx, workspaceId: string, tags: readonly TagLinkage[]) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'tags:manage')
  const target = { organizationId: workspace.organization_id, workspaceId }
  const event = {
    organizationId: workspace.organization_id,
    action: 'add_tags',
    resource: { type: 'workspace', id: workspaceId },
    meta: { name: workspace.name, tags },
  }
  await audited(ctx, event, (ctx) => addFlatTags(ctx, target, tags, '/data'))
}

export async function removeWorkspaceTags(ctx: Ctx, workspaceId: string, tags: readonly TagLinkage[]) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'tags:manage')
  const keys = await readTagKeys(ctx, workspace.organization_id, { tags, pointer: '/data' })
  const event = {
    organizationId: workspace.organization_id,
    action: 'remove_tags',
    resource: { type: 'workspace', id: workspaceId },
    meta: { name: workspace.name, tags: keys },
  }
  await audited(ctx, event, (ctx) => store.deleteFlatTags(ctx.db, workspaceId, keys))
}

/** The organization's tags, as far as they are on workspaces that the actor sees. */
export async function listTags(
  ctx: Ctx,
  organizationName: string,
  { page, q, exclude }: { page: Page; q: string | undefined; exclude: string | undefined },
) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const filter = { organizationId: organization.id, q, exclude, visible: visibleWorkspace(ctx.actor) }
  const window = { limit: page.size, offset: pageOffset(page) }
  return { ...(await store.listTags(ctx.db, filter, window)), organization: organization.name }
}

/** Takes tags off every workspace of the organization. */
export async function deleteTags(ctx: Ctx, organizationName: string, tags: readonly Identifier[]) {
  const organization = await requireOrganization(ctx, organizationName, 'tags:manage')
  const identifiers = tags.map(({ id }) => ({ type: 'tags' as const, id }))
  const keys = await readTagKeys(ctx, organization.id, { tags: identifiers, pointer: '/data' })
  const ids = tags.map(({ id }) => id)
  const event = {
    organizationId: organization.id,
    action: 'remove_tags',
    resource: { type: 'organization', id: organization.id },
    meta: { name: organization.name, tags: keys },
  }
  await audited(ctx, event, (ctx) => store.deleteTags(ctx.db, organization.id, ids))
}

/** Puts a tag on more workspaces, on all of them or none. */
export async function addWorkspacesToTag(ctx: Ctx, tagId: string, identifiers: readonly Identifier[]) {
  const tag = await store.findTag(ctx.db, tagId)
  if (!tag) throw notFound('tag')
  const [organization] = await listReadableOrganizations(ctx, [tag.organization_id])
  if (!organization) throw notFound('tag')
  const ids = identifiers.map(({ id }) => id)
  const workspaces = new Map((await listReadableWorkspaces(ctx, ids)).map((workspace) => [workspace.id, workspace]))
  for (const [index, id] of ids.entries()) {
    const workspace = workspaces.get(id)
    if (workspace?.organization_id !== tag.organization_id) {
      throw invalid(`there is no workspace ${id} in the organization`, `/data/${index}/id`)
    }
    if (!workspace.can.has('tags:manage')) {
      throw forbidden(`this needs the permission tags:manage on the workspace ${workspace.name}`)
    }
  }
  await transact(ctx, async (ctx) => {
    for (const workspaceId of ids) {
      const linkage = { type: 'tags' as const, attributes: { name: tag.key } }
      await addFlatTags(ctx, { organizationId: tag.organization_id, workspaceId }, [linkage], '/data')
      await recordAudit(ctx, {
        organizationId: tag.organization_id,
        action: 'add_tags',
        resource: { type: 'workspace', id: workspaceId },
        meta: { name: workspaces.get(workspaceId)?.name, tags: [tag.key] },
      })
    }
  })
}
