import type { Ctx } from '../../../app.ts'
import { type Page, type Paged, pageOffset } from '../../../db/page.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireProject } from '../../organizations/projects/access.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import { readableSets } from './access.ts'
import * as store from './store.ts'
import type { VariableSet } from './variable-set.ts'

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
  return { rows: await readableSets(ctx, organizationId, rows), total }
}
