import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import {
  type Organization,
  requireOrganization,
  requireOrganizationById,
} from '../../organizations/organizations/access.ts'
import { listProjects } from '../../organizations/projects/service.ts'
import { requireOAuthToken } from '../../vcs/oauth-clients/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { isTokenOpenTo } from './store.ts'

/** The token of a connection, and the workspace whose repository is chosen, if it exists already. */
export type Chooser = { tokenId: string; workspaceId?: string | undefined }

/**
 * Throws `not-found` unless the actor may choose repositories: names of private ones are only for those who manage connections, create
 * workspaces or may update the workspace.
 */
export async function requireChoosing(ctx: Ctx, { tokenId, workspaceId }: Chooser) {
  const token = await requireOAuthToken(ctx, tokenId, 'vcs-settings:read')
  const organization = await requireOrganizationById(ctx, token.organization_id, 'vcs-settings:read')
  if (organization.can.has('vcs-settings:manage') || organization.can.has('workspaces:create')) return
  const projects = await listChoosingProjects(ctx, organization, workspaceId)
  if (!(await isTokenOpenTo(ctx.db, tokenId, projects))) throw notFound('OAuth token')
}

/** As `requireChoosing`, for a token of the organization. */
export async function requireChoosingIn(ctx: Ctx, organizationName: string, chooser: Chooser) {
  const { id } = await requireOrganization(ctx, organizationName, 'vcs-settings:read')
  const token = await requireOAuthToken(ctx, chooser.tokenId, 'vcs-settings:read')
  if (token.organization_id !== id) throw notFound('OAuth token')
  await requireChoosing(ctx, chooser)
}

/** Ids of projects in which the actor may choose repositories. Throws `not-found` if there are none. */
async function listChoosingProjects(ctx: Ctx, organization: Organization, workspaceId: string | undefined) {
  if (workspaceId !== undefined) {
    const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:update')
    if (workspace.organization_id === organization.id) return [workspace.project_id]
    throw notFound('workspace')
  }
  const { rows } = await listProjects(ctx, organization.name, {
    permissions: ['workspaces:create'],
    names: undefined,
    q: undefined,
    page: { number: 1, size: 100 },
    descending: false,
  })
  if (rows.length === 0) throw notFound('OAuth token')
  return rows.map(({ id }) => id)
}
