import type { Ctx } from '../../../app.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { listReadableOrganizations, requireOrganization } from '../../organizations/organizations/service.ts'
import { listReadableProjects, requireProject } from '../../organizations/projects/service.ts'
import { requireWorkspace } from '../workspaces/service.ts'
import * as store from './store.ts'
import { type Page, type Paged, pageOffset } from '../../../db/page.ts'

/** A variable set that the actor may see. */
export type VariableSet = store.VariableSetRow & { canManage: boolean }

/** Sets in force in a workspace with their scope, for the precedence of variables. The caller has authorised it. */
export async function listSetsForRun(
  ctx: Ctx,
  scope: { workspaceId: string; projectId: string; organizationId: string },
) {
  return store.listSetsInForce(ctx.db, scope)
}

/** Throws `not-found` for a set that the actor may not see, `forbidden` for one that it may only read. */
export async function requireVariableSet(ctx: Ctx, id: string, access: 'read' | 'manage'): Promise<VariableSet> {
  const row = await store.findVariableSet(ctx.db, ctx.actor, id)
  const [set] = row ? await readable(ctx, row.organization_id, [row]) : []
  if (!set) throw notFound('variable set')
  if (access === 'manage' && !set.canManage) {
    throw forbidden(`this needs the permission variable-sets:manage for the variable set ${set.name}`)
  }
  return set
}

/** Organization sets follow what the actor may do there, a project's sets what it may do in the project. */
async function readable(ctx: Ctx, organizationId: string, rows: readonly store.VariableSetRow[]) {
  const projectIds = [...new Set(rows.flatMap((row) => row.project_id ?? []))]
  const [[organization], projects] = await Promise.all([
    listReadableOrganizations(ctx, [organizationId]),
    listReadableProjects(ctx, projectIds),
  ])
  const byId = new Map(projects.map((project) => [project.id, project.can]))
  return rows.flatMap((row): VariableSet[] => {
    const project = row.project_id === null ? undefined : byId.get(row.project_id)
    const manage = organization?.can.has('variable-sets:manage') || project?.has('variable-sets:manage')
    const read =
      row.project_id === null ? organization?.can.has('variable-sets:read') : project?.has('variable-sets:read')
    return read || manage ? [{ ...row, canManage: manage ?? false }] : []
  })
}

type ListVariableSets = { page: Page; filter: store.VariableSetFilter }

export async function listOrganizationSets(
  ctx: Ctx,
  organizationName: string,
  query: ListVariableSets,
): Promise<Paged<VariableSet>> {
  const organization = await requireOrganization(ctx, organizationName, 'variable-sets:read')
  return listSets(ctx, organization.id, { kind: 'organization' }, query)
}

export async function listWorkspaceSets(
  ctx: Ctx,
  workspaceId: string,
  { kind, ...query }: ListVariableSets & { kind: 'workspace' | 'applicable' },
): Promise<Paged<VariableSet>> {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:read')
  return listSets(ctx, workspace.organization_id, { kind, workspaceId, projectId: workspace.project_id }, query)
}

export async function listProjectSets(
  ctx: Ctx,
  projectId: string,
  { kind, ...query }: ListVariableSets & { kind: 'project' | 'owned' },
): Promise<Paged<VariableSet>> {
  const project = await requireProject(ctx, projectId, 'project:read')
  return listSets(ctx, project.organization_id, { kind, projectId }, query)
}

async function listSets(
  ctx: Ctx,
  organizationId: string,
  scope: store.VariableSetScope,
  { page, filter }: ListVariableSets,
): Promise<Paged<VariableSet>> {
  const { rows, total } = await store.listVariableSets(
    ctx.db,
    ctx.actor,
    { organizationId, scope, filter },
    { limit: page.size, offset: pageOffset(page) },
  )
  return { rows: await readable(ctx, organizationId, rows), total }
}
