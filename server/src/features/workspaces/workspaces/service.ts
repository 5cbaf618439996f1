import type { Identifier, Resource } from '@groundstate/contract/json-api'
import type { CreateWorkspace, UpdateWorkspace } from '@groundstate/contract/workspaces'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudit } from '../../../audit/record.ts'
import { type Page, type Paged, pageOffset, transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { namedPool, requireOrganization, requirePoolFor } from '../../organizations/organizations/access.ts'
import { listTeamsOfProject } from '../../organizations/organizations/store.ts'
import { requireDefaultProject, requireProject, requireProjectIn } from '../../organizations/projects/access.ts'
import { addFlatTags, replaceTagBindings } from '../../organizations/tags/service.ts'
import {
  type Workspace,
  readableWorkspace,
  refuseTakenWorkspaceName,
  requireVisibleWorkspaces,
  requireWorkspace,
  requireWorkspaceBy,
} from './access.ts'
import { workspaceAudit, workspaceCreating } from './audit.ts'
import * as consumerStore from './consumer-store.ts'
import { listWaitingReasons } from './list.ts'
import { workspaceResource } from './resource.ts'
import { changeExecution, defaultsOf, workspaceSettingColumns } from './settings.ts'
import * as store from './store.ts'

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

/** The resources of requested workspaces, each with the reason why a run waits there. */
export async function showWorkspaces(ctx: Ctx, workspaces: readonly Workspace[]): Promise<Resource[]> {
  const reasons = await listWaitingReasons(
    ctx,
    workspaces.filter((workspace) => mayHaveWaitingRun(ctx, workspace)).map(({ id }) => id),
  )
  return workspaces.map((workspace) =>
    workspaceResource(workspace, { waitingReason: reasons.get(workspace.id) ?? null }),
  )
}

/**
 * An idle workspace needs no query, and the reason is only for those who may read its runs. The engine of the active run, which
 * asks for its workspace with each command, is running and does not need its waiting reason.
 */
function mayHaveWaitingRun({ actor }: Ctx, { active_run_id, waiting_runs, can }: Workspace) {
  if (actor.kind === 'run' && actor.runId === active_run_id) return false
  return (active_run_id !== null || waiting_runs > 0) && can.has('runs:read')
}

/** As `showWorkspaces`, for one. */
export async function showWorkspace(ctx: Ctx, workspace: Workspace): Promise<Resource> {
  const [resource] = await showWorkspaces(ctx, [workspace])
  return resource ?? workspaceResource(workspace)
}

/** Changes settings, moves the workspace to another project, and replaces its tags, as given in the body. */
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

/**
 * Moves workspaces of the same organization into the project, all of them or none. Throws `invalid` for a workspace
 * that the actor does not see, `forbidden` for one that it may not move.
 */
export async function moveWorkspaces(ctx: Ctx, projectId: string, workspaces: readonly Identifier[]) {
  const { organization_id: organizationId } = await requireProject(ctx, projectId, 'workspaces:create')
  const ids = workspaces.map(({ id }) => id)
  const rows = await store.findWorkspaces(ctx.db, ctx.actor, ids)
  const found = new Map(rows.flatMap((row) => readableWorkspace(ctx, row) ?? []).map((row) => [row.id, row]))
  for (const [index, id] of ids.entries()) {
    const workspace = found.get(id)
    if (workspace?.organization_id !== organizationId) {
      throw invalid(`there is no workspace ${id} in the organization`, `/data/${index}/id`)
    }
    if (!workspace.can.has('workspace:move')) {
      throw forbidden(`this needs the permission workspace:move on the workspace ${workspace.name}`)
    }
  }
  await transact(ctx, async (ctx) => {
    await store.moveWorkspaces(ctx.db, ids, { organizationId, projectId, now: ctx.now() })
    for (const id of ids) {
      const workspace = found.get(id)
      const meta = { name: workspace?.name, changes: { project: projectId } }
      const event = workspaceAudit({ id, organization_id: organizationId }, 'update', meta)
      const notices = workspace ? await moveNotices(ctx, workspace) : []
      await recordAudit(ctx, { ...event, notices: [...event.notices, ...notices], changesAccess: true })
    }
  })
}

/** Notices for users who lose sight of a workspace moved to another project. */
async function moveNotices(
  ctx: Ctx,
  { id, project_id: projectId }: { id: string; project_id: string },
): Promise<AuditEvent['notices']> {
  return [{ type: 'workspaces', id, workspace: id, teams: await listTeamsOfProject(ctx.db, projectId) }]
}

/** Replaces the tag bindings and adds the flat tags in the body; omitted ones are unchanged. */
async function changeTags(
  ctx: TransactionCtx,
  target: { organizationId: string; workspaceId: string },
  { relationships }: UpdateWorkspace,
) {
  const bindings = relationships['tag-bindings']?.data.map((tag) => tag.attributes)
  if (bindings) await replaceTagBindings(ctx, target, bindings)
  if (relationships.tags) await addFlatTags(ctx, target, relationships.tags.data, '/data/relationships/tags/data')
}

/** The tags of a body, for the audit trail. */
function changedTags({ relationships }: Pick<UpdateWorkspace, 'relationships'>) {
  return {
    'tag-bindings': relationships['tag-bindings']?.data.map((tag) => tag.attributes),
    tags: relationships.tags?.data,
  }
}

/** The workspaces that the actor sees among those whose runs may read this workspace's state. */
export async function listRemoteStateConsumers(ctx: Ctx, id: string, page: Page): Promise<Paged<Workspace>> {
  await requireWorkspace(ctx, id, 'workspace:read')
  const window = { limit: page.size, offset: pageOffset(page) }
  const { rows, total } = await consumerStore.listConsumers(ctx.db, ctx.actor, id, window)
  return { rows: rows.flatMap((row) => readableWorkspace(ctx, row) ?? []), total }
}

export async function addRemoteStateConsumers(ctx: Ctx, id: string, consumers: readonly Identifier[]) {
  const workspace = await requireWorkspace(ctx, id, 'workspace:update')
  const ids = await requireVisibleWorkspaces(ctx, workspace.organization_id, consumers)
  await audited(ctx, consumersAudit(workspace, 'add', ids), (ctx) => consumerStore.insertConsumers(ctx.db, id, ids))
}

export async function replaceRemoteStateConsumers(ctx: Ctx, id: string, consumers: readonly Identifier[]) {
  const workspace = await requireWorkspace(ctx, id, 'workspace:update')
  const ids = await requireVisibleWorkspaces(ctx, workspace.organization_id, consumers)
  await audited(ctx, consumersAudit(workspace, 'replace', ids), async (ctx) => {
    await consumerStore.deleteVisibleConsumers(ctx.db, ctx.actor, id)
    await consumerStore.insertConsumers(ctx.db, id, ids)
  })
}

export async function removeRemoteStateConsumers(ctx: Ctx, id: string, consumers: readonly Identifier[]) {
  const workspace = await requireWorkspace(ctx, id, 'workspace:update')
  const ids = await requireVisibleWorkspaces(ctx, workspace.organization_id, consumers)
  await audited(ctx, consumersAudit(workspace, 'remove', ids), (ctx) => consumerStore.deleteConsumers(ctx.db, id, ids))
}

function consumersAudit(workspace: Workspace, verb: string, consumers: readonly string[]) {
  return workspaceAudit(workspace, `${verb}_remote_state_consumers`, { name: workspace.name, consumers })
}
