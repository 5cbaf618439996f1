import type { Identifier } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { requireProject } from '../../organizations/projects/access.ts'
import { moveWorkspacesTo } from './move.ts'

/** Moves workspaces of the same organization into the project, all of them or none. */
export async function moveWorkspaces(ctx: Ctx, projectId: string, workspaces: readonly Identifier[]) {
  const project = await requireProject(ctx, projectId, 'workspaces:create')
  await moveWorkspacesTo(ctx, { organizationId: project.organization_id, projectId }, workspaces)
}
