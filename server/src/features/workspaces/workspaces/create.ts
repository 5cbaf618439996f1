import type { CreateWorkspace, UpdateWorkspace } from '@groundstate/contract/workspaces'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { requireOrganization, requirePoolFor } from '../../organizations/organizations/service.ts'
import { requireDefaultProject, requireProjectIn } from '../../organizations/projects/service.ts'
import { replaceTagBindings } from '../../organizations/tags/bind.ts'
import { addFlatTags } from '../workspace-tags/add-flat-tags.ts'
import { changeExecution } from './execution.ts'
import { requireWorkspace, requireWorkspaceBy } from './access.ts'
import { settingColumns } from './settings.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'
import { raise } from '../../../events/reaction.ts'
import { workspaceCreating } from './events.ts'
import type { Workspace } from './workspace.ts'

const POOL = '/data/attributes/agent-pool-id'

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
  const execution = changeExecution(
    { execution_mode: null, agent_pool_id: null },
    defaultsOf(project),
    input.attributes,
  )
  if (execution.agent_pool_id !== null) {
    const place = { organizationId: organization.id, projectId: project.id }
    await requirePoolFor(ctx, place, { poolId: execution.agent_pool_id, pointer: POOL })
  }

  return transact(ctx, async (ctx) => {
    await raise(ctx, workspaceCreating, { organization })
    const now = ctx.now()
    const id = ctx.newId('ws')
    const { engine_version, ...columns } = settingColumns(input.attributes, clientEngine)
    await unique(input.attributes.name, () =>
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
    await setTags(ctx, { organizationId: organization.id, workspaceId: id }, input)
    await recordAudit(ctx, {
      organizationId: organization.id,
      action: 'create',
      resource: { type: 'workspace', id },
      meta: { name: input.attributes.name, project: project.id },
    })
    return requireWorkspace(ctx, id, 'workspace:read')
  })
}

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
  const execution = changeExecution(workspace, defaults, input.attributes)
  if (execution.agent_pool_id !== null && execution.agent_pool_id !== workspace.agent_pool_id) {
    const place = {
      organizationId: workspace.organization_id,
      workspaceId: workspace.id,
      projectId: project?.id ?? workspace.project_id,
    }
    await requirePoolFor(ctx, place, { poolId: execution.agent_pool_id, pointer: POOL })
  }
  return transact(ctx, async (ctx) => {
    await unique(input.attributes.name ?? workspace.name, () =>
      store.updateWorkspace(ctx.db, workspace.id, {
        ...settingColumns(input.attributes, clientEngine),
        ...execution,
        project_id: project?.id,
        updated_at: ctx.now(),
      }),
    )
    await setTags(ctx, { organizationId: workspace.organization_id, workspaceId: workspace.id }, input)
    await recordAudit(ctx, {
      organizationId: workspace.organization_id,
      action: 'update',
      resource: { type: 'workspace', id: workspace.id },
      meta: { name: workspace.name, changes: { ...input.attributes, project: project?.id, ...changedTags(input) } },
    })
    return requireWorkspace(ctx, workspace.id, 'workspace:read')
  })
}

type ProjectDefaults = {
  default_execution_mode: store.WorkspaceRow['execution_mode']
  default_agent_pool_id: string | null
  organization_execution_mode: NonNullable<store.WorkspaceRow['execution_mode']>
  organization_agent_pool_id: string | null
}

function defaultsOf(project: ProjectDefaults) {
  return {
    project_execution_mode: project.default_execution_mode,
    project_agent_pool_id: project.default_agent_pool_id,
    organization_execution_mode: project.organization_execution_mode,
    organization_agent_pool_id: project.organization_agent_pool_id,
  }
}

function changedTags({ relationships }: UpdateWorkspace) {
  return {
    'tag-bindings': relationships['tag-bindings']?.data.map((tag) => tag.attributes),
    tags: relationships.tags?.data,
  }
}

async function setTags(
  ctx: TransactionCtx,
  target: { organizationId: string; workspaceId: string },
  { relationships }: UpdateWorkspace,
) {
  const bindings = relationships['tag-bindings']?.data.map((tag) => tag.attributes)
  if (bindings) await replaceTagBindings(ctx, target, bindings)
  if (relationships.tags) await addFlatTags(ctx, target, relationships.tags.data, '/data/relationships/tags/data')
}

async function unique<T>(name: string, work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'workspaces_name_key')) {
      throw invalid(`Name has already been taken: there is a workspace ${name}`, '/data/attributes/name')
    }
    throw error
  }
}
