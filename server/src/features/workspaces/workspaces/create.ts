import type { CreateWorkspace } from '@groundstate/contract/workspaces'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { raise } from '../../../events/reaction.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { namedPool } from '../../organizations/organizations/named-pool.ts'
import { requirePoolFor } from '../../organizations/organizations/pool-access.ts'
import { requireDefaultProject, requireProjectIn } from '../../organizations/projects/access.ts'
import { requireWorkspace } from './access.ts'
import { workspaceAudit } from './audit.ts'
import { changedTags, changeTags } from './change-tags.ts'
import { workspaceCreating } from './events.ts'
import { changeExecution, defaultsOf } from './execution.ts'
import { refuseTakenWorkspaceName } from './name.ts'
import { workspaceSettingColumns } from './settings.ts'
import * as store from './store.ts'
import type { Workspace } from './workspace.ts'

/** Creates a workspace, in the organization's default project unless the body names another. */
export async function createWorkspace(
  ctx: Ctx,
  organizationName: string,
  { input, clientEngine }: { input: CreateWorkspace; clientEngine?: string | undefined },
): Promise<Workspace> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const named = input.relationships.project?.data.id
  const project =
    named === undefined
      ? await requireDefaultProject(ctx, organization.default_project_id)
      : await requireProjectIn(ctx, organization.id, {
          id: named,
          permission: 'workspaces:create',
          pointer: '/data/relationships/project/data/id',
        })
  const execution = changeExecution({ execution_mode: null, agent_pool_id: null }, defaultsOf(project), input)
  if (execution.agent_pool_id !== null) {
    const place = { organizationId: organization.id, projectId: project.id }
    await requirePoolFor(ctx, place, {
      poolId: execution.agent_pool_id,
      pointer: namedPool(input, 'agent-pool').pointer,
    })
  }

  return transact(ctx, async (ctx) => {
    await raise(ctx, workspaceCreating, { organization })
    const now = ctx.now()
    const id = ctx.newId('ws')
    const { engine_version, ...columns } = workspaceSettingColumns(input.attributes, clientEngine)
    await refuseTakenWorkspaceName(input.attributes.name, () =>
      store.insertWorkspace(ctx.db, {
        ...columns,
        id,
        name: input.attributes.name,
        organization_id: organization.id,
        project_id: project.id,
        engine_version: engine_version ?? 'latest',
        ...execution,
        latest_change_at: now,
        created_at: now,
        updated_at: now,
      }),
    )
    await changeTags(ctx, { organizationId: organization.id, workspaceId: id }, input)
    const changes = { ...input.attributes, ...changedTags(input) }
    const meta = { name: input.attributes.name, project: project.id, changes }
    await recordAudit(ctx, workspaceAudit({ id, organization_id: organization.id }, 'create', meta))
    return requireWorkspace(ctx, id, 'workspace:read')
  })
}
