import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'

/** Whose policy: an organization by its name, or a workspace by its id. */
export type PolicyOwner = { organization: string } | { workspaceId: string }

/** The owner of a policy, which is a part of the self-managed edition, as is everything about backing data. */
export async function requirePolicyOwner(ctx: Ctx, owner: PolicyOwner, access: 'read' | 'write') {
  if (ctx.config.edition === 'hosted') throw notFound('data retention policy')
  if ('organization' in owner) {
    const permission = access === 'read' ? 'organization:read' : 'owner'
    const organization = await requireOrganization(ctx, owner.organization, permission)
    return {
      key: { organizationId: organization.id },
      organizationId: organization.id,
      target: { id: organization.name, type: 'organizations' as const },
    }
  }
  const permission = access === 'read' ? 'workspace:read' : 'workspace:delete'
  const workspace = await requireWorkspace(ctx, owner.workspaceId, permission)
  return {
    key: { workspaceId: workspace.id },
    organizationId: workspace.organization_id,
    target: { id: workspace.id, type: 'workspaces' as const },
  }
}
