import type { UpdateWorkspace } from '@groundstate/contract/workspaces'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { forbidden } from '../../../errors.ts'
import { namedPool } from '../../organizations/organizations/named-pool.ts'
import { requirePoolFor } from '../../organizations/organizations/pool-access.ts'
import { requireProjectIn } from '../../organizations/projects/access.ts'
import { requireWorkspace, requireWorkspaceBy } from './access.ts'
import { workspaceAudit } from './audit.ts'
import { changedTags, changeTags } from './change-tags.ts'
import { changeExecution, defaultsOf } from './execution.ts'
import { moveNotices } from './move.ts'
import { refuseTakenWorkspaceName } from './name.ts'
import { workspaceSettingColumns } from './settings.ts'
import * as store from './store.ts'
import type { Workspace } from './workspace.ts'

/** Changes settings, moves the workspace to another project, and replaces its tags, as far as the body says. */
export async function updateWorkspace(
  ctx: Ctx,
  key: store.WorkspaceKey,
  { input, clientEngine }: { input: UpdateWorkspace; clientEngine?: string | undefined },
): Promise<Workspace> {
  const workspace = await requireWorkspaceBy(ctx, key, 'workspace:update')
  const projectId = input.relationships.project?.data.id
  const moves = projectId !== undefined && projectId !== workspace.project_id
  if (moves && !workspace.can.has('workspace:move')) {
    throw forbidden(`this needs the permission workspace:move on the workspace ${workspace.name}`)
  }
  const project = moves
    ? await requireProjectIn(ctx, workspace.organization_id, {
        id: projectId,
        permission: 'workspaces:create',
        pointer: '/data/relationships/project/data/id',
      })
    : undefined
  const defaults = project ? defaultsOf(project) : workspace
  const execution = changeExecution(workspace, defaults, input)
  if (execution.agent_pool_id !== null && execution.agent_pool_id !== workspace.agent_pool_id) {
    const place = {
      organizationId: workspace.organization_id,
      workspaceId: workspace.id,
      projectId: project?.id ?? workspace.project_id,
    }
    await requirePoolFor(ctx, place, {
      poolId: execution.agent_pool_id,
      pointer: namedPool(input, 'agent-pool').pointer,
    })
  }
  return transact(ctx, async (ctx) => {
    await refuseTakenWorkspaceName(input.attributes.name ?? workspace.name, () =>
      store.updateWorkspace(ctx.db, workspace, {
        ...workspaceSettingColumns(input.attributes, clientEngine),
        ...execution,
        project_id: project?.id,
        updated_at: ctx.now(),
      }),
    )
    await changeTags(ctx, { organizationId: workspace.organization_id, workspaceId: workspace.id }, input)
    const changes = { ...input.attributes, project: project?.id, ...changedTags(input) }
    const event = workspaceAudit(workspace, 'update', { name: workspace.name, changes })
    const notices = moves ? await moveNotices(ctx, workspace) : []
    await recordAudit(ctx, { ...event, notices: [...event.notices, ...notices], changesAccess: moves })
    return requireWorkspace(ctx, workspace.id, 'workspace:read')
  })
}
