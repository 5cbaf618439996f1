import type { Ctx } from '../../../app.ts'
import { projectPermissions } from '../../../auth/project-permissions.ts'
import { type Page, type Paged, pageOffset } from '../../../db/page.ts'
import { requireOrganization } from '../organizations/access.ts'
import { readableProject } from './access.ts'
import type { CountedProject } from './project.ts'
import { withCounts } from './show.ts'
import * as store from './store.ts'

export type ListProjects = {
  page: Page
  names?: string[] | undefined
  q?: string | undefined
  /** Only projects in which the actor may do each of these. */
  permissions: readonly store.GrantedPermission[]
  descending: boolean
}

export async function listProjects(
  ctx: Ctx,
  organizationName: string,
  query: ListProjects,
): Promise<Paged<CountedProject>> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const { role, organizationAccess } = organization.access
  const seesAll =
    role !== 'member' ||
    (['manage_projects', 'manage_workspaces', 'read_projects', 'read_workspaces'] as const).some((name) =>
      organizationAccess.has(name),
    )
  // A permission on the whole organization needs no grant. Only users have grants.
  const everywhere = projectPermissions(organization.access)
  const asked = query.permissions.filter((permission) => !everywhere.has(permission))
  const { actor } = ctx
  if (asked.length > 0 && actor.kind !== 'user') return { rows: [], total: 0 }
  const { rows, total } = await store.listProjects(
    ctx.db,
    ctx.actor,
    {
      organizationId: organization.id,
      userId: seesAll || ctx.actor.kind !== 'user' ? undefined : ctx.actor.userId,
      granted: actor.kind === 'user' ? asked.map((permission) => ({ userId: actor.userId, permission })) : [],
      names: query.names,
      q: query.q,
    },
    { limit: query.page.size, offset: pageOffset(query.page), descending: query.descending },
  )
  const projects = rows.flatMap((row) => readableProject(ctx, row) ?? [])
  return { rows: await withCounts(ctx, projects), total }
}
