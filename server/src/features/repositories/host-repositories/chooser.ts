import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import {
  type Organization,
  requireOrganization,
  requireOrganizationById,
} from '../../organizations/organizations/access.ts'
import { listProjects } from '../../organizations/projects/service.ts'
import { requireInstallation } from '../../vcs/github-app-installations/service.ts'
import { requireOAuthToken } from '../../vcs/oauth-clients/access.ts'
import { isTokenOpenTo } from '../../vcs/oauth-clients/store.ts'
import type { ConnectionKey } from '../../vcs/repositories/store.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'

type Choosing = {
  connection: ConnectionKey
  /** The workspace whose repository is chosen, if it exists already. */
  workspaceId?: string | undefined
  /** The name of the organization that the connection must belong to. */
  organizationName?: string
}

/** A connection through which the actor may choose repositories. */
export type Chooser = {
  organization_id: string
  oauth_token_id: string | null
  github_app_installation_id: string | null
}

/**
 * Throws `not-found` unless the actor may choose repositories: names of private ones are only for those who manage connections, create
 * workspaces or may update the workspace.
 */
export async function requireChooser(ctx: Ctx, choosing: Choosing): Promise<Chooser> {
  const { connection, organizationName } = choosing
  const organization =
    organizationName === undefined ? undefined : await requireOrganization(ctx, organizationName, 'vcs-settings:read')
  const { organization_id: organizationId } =
    'tokenId' in connection
      ? await requireOAuthToken(ctx, connection.tokenId, 'vcs-settings:read')
      : await requireInstallation(ctx, connection.installationId, 'vcs-settings:read')
  if (organization && organization.id !== organizationId) throw missing()
  await checkChoosing(
    ctx,
    organization ?? (await requireOrganizationById(ctx, organizationId, 'vcs-settings:read')),
    choosing,
  )
  return {
    organization_id: organizationId,
    oauth_token_id: 'tokenId' in connection ? connection.tokenId : null,
    github_app_installation_id: 'tokenId' in connection ? null : connection.installationId,
  }
}

const missing = () => notFound('connection')

async function checkChoosing(ctx: Ctx, organization: Organization, { connection, workspaceId }: Choosing) {
  if (organization.can.has('vcs-settings:manage') || organization.can.has('workspaces:create')) return
  const projects = await listChoosingProjects(ctx, organization, workspaceId)
  if (projects.length === 0) throw missing()
  // Installations of the GitHub App are for all projects.
  if ('tokenId' in connection && !(await isTokenOpenTo(ctx.db, connection.tokenId, projects))) throw missing()
}

const PAGE_SIZE = 100

/** Ids of projects in which the actor may choose repositories. */
async function listChoosingProjects(ctx: Ctx, organization: Organization, workspaceId: string | undefined) {
  if (workspaceId !== undefined) {
    const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:update')
    return workspace.organization_id === organization.id ? [workspace.project_id] : []
  }
  const query = { permissions: ['workspaces:create'], names: undefined, q: undefined, descending: false } as const
  const ids: string[] = []
  for (let number = 1; ; number += 1) {
    const page = { number, size: PAGE_SIZE }
    const { rows, total } = await listProjects(ctx, organization.name, { ...query, page })
    ids.push(...rows.map(({ id }) => id))
    if (number * PAGE_SIZE >= total) return ids
  }
}
