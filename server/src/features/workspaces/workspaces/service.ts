import type { Identifier, Resource } from '@groundstate/contract/json-api'
import type { CreateWorkspace, UpdateWorkspace } from '@groundstate/contract/workspaces'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudit, recordAudits } from '../../../audit/record.ts'
import { type Page, type Paged, transact } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { requestedPool, requireOrganization, requirePoolFor } from '../../organizations/organizations/access.ts'
import { listTeamsOfProjects } from '../../organizations/organizations/store.ts'
import { requireDefaultProject, requireProject, requireProjectIn } from '../../organizations/projects/access.ts'
import { addFlatTags, replaceTagBindings } from '../../organizations/tags/service.ts'
import { putRepository, repositoryLeft } from '../../vcs/repositories/service.ts'
import { findSshKey } from '../../vcs/ssh-keys/store.ts'
import {
  type Workspace,
  checkPermission,
  readableWorkspace,
  rejectTakenWorkspaceName,
  requireVisibleWorkspaces,
  requireWorkspace,
  requireWorkspaceBy,
  requireWorkspaces,
} from './access.ts'
import { repositoryChosen, workspaceAudit, workspaceCreating } from './audit.ts'
import { listWaitingReasons } from './list.ts'
import { workspaceResource } from './resource.ts'
import { changeExecution, changeRepository, defaultsOf, workspaceSettingColumns } from './settings.ts'
import * as store from './store.ts'

/** Creates a workspace, in the organization's default project unless the body names another. */
export async function createWorkspace(
  ctx: Ctx,
  organizationName: string,
  { input, clientEngine }: { input: CreateWorkspace; clientEngine?: string | undefined },
): Promise<Workspace> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const { id: organizationId } = organization
  const projectId = input.relationships.project?.data.id
  const project =
    projectId === undefined
      ? await requireDefaultProject(ctx, organization.default_project_id)
      : await requireTargetProject(ctx, organizationId, projectId)
  const execution = changeExecution({ execution_mode: null, agent_pool_id: null }, defaultsOf(project), input)
  if (execution.agent_pool_id !== null) {
    const { pointer } = requestedPool(input, 'agent-pool')
    const scope = { organizationId, projectId: project.id }
    await requirePoolFor(ctx, scope, { poolId: execution.agent_pool_id, pointer })
  }
  const { repository, columns: repositoryColumns } = changeRepository(input.attributes, undefined)
  return transact(ctx, async (ctx) => {
    await raise(ctx, workspaceCreating, { organization })
    const scope = { organizationId, projectId: project.id }
    const repositoryId = repository ? await putRepository(ctx, { ...scope, ...repository }) : null
    const now = ctx.now()
    const id = ctx.newId('ws')
    const { name } = input.attributes
    const { engine_version, ...columns } = workspaceSettingColumns(input.attributes, { clientEngine })
    await rejectTakenWorkspaceName(name, () =>
      store.insertWorkspace(ctx.db, {
        ...columns,
        ...repositoryColumns,
        repository_id: repositoryId,
        id,
        name,
        organization_id: organizationId,
        project_id: project.id,
        engine_version: engine_version ?? 'latest',
        ...execution,
        latest_change_at: now,
        created_at: now,
        updated_at: now,
      }),
    )
    await changeTags(ctx, { organizationId, workspaceId: id }, input)
    const meta = { name, project: project.id, changes: { ...input.attributes, ...changedTags(input) } }
    await recordAudit(ctx, workspaceAudit({ id, organization_id: organizationId }, 'create', meta))
    if (repository) await raise(ctx, repositoryChosen, { workspaceId: id })
    return requireWorkspace(ctx, id, 'workspace:read')
  })
}

async function requireTargetProject(ctx: Ctx, organizationId: string, id: string) {
  const pointer = '/data/relationships/project/data/id'
  return requireProjectIn(ctx, organizationId, { id, permission: 'workspaces:create', pointer })
}

/** The resources of requested workspaces, with the reasons why their runs wait. */
export async function showWorkspaces(ctx: Ctx, workspaces: readonly Workspace[]): Promise<Resource[]> {
  const waiting = workspaces.filter((workspace) => mayHaveWaitingRun(ctx, workspace))
  const reasons = await listWaitingReasons(ctx, waiting)
  return workspaces.map((workspace) =>
    workspaceResource(workspace, { waitingReason: reasons.get(workspace.id) ?? null }),
  )
}

/** Saves the query for idle workspaces and callers who may not read runs, and for the engine of the active run. */
function mayHaveWaitingRun({ actor }: Ctx, { active_run_id, waiting_runs, can }: Workspace) {
  if (actor.kind === 'run' && actor.runId === active_run_id) return false
  return (active_run_id !== null || waiting_runs > 0) && can.has('runs:read')
}

/** As `showWorkspaces`, with the details if they were read: responses to changes have only links, as lists do. */
export async function showWorkspace(ctx: Ctx, workspace: Workspace): Promise<Resource> {
  const reasons = mayHaveWaitingRun(ctx, workspace) ? await listWaitingReasons(ctx, [workspace]) : undefined
  const { details } = workspace
  return workspaceResource(workspace, { waitingReason: reasons?.get(workspace.id) ?? null, details })
}

/** Changes settings, moves the workspace to another project, and replaces its tags. */
export async function updateWorkspace(
  ctx: Ctx,
  key: store.WorkspaceKey,
  { input, clientEngine }: { input: UpdateWorkspace; clientEngine?: string | undefined },
): Promise<Workspace> {
  const workspace = await requireWorkspaceBy(ctx, key, 'workspace:update')
  const { id: workspaceId, organization_id: organizationId } = workspace
  const projectId = input.relationships.project?.data.id
  const moves = projectId !== undefined && projectId !== workspace.project_id
  if (moves) checkPermission(workspace, 'workspace:move')
  const project = moves ? await requireTargetProject(ctx, organizationId, projectId) : undefined
  const execution = changeExecution(workspace, project ? defaultsOf(project) : workspace, input)
  if (execution.agent_pool_id !== null && execution.agent_pool_id !== workspace.agent_pool_id) {
    const { pointer } = requestedPool(input, 'agent-pool')
    const scope = { organizationId, workspaceId, projectId: project?.id ?? workspace.project_id }
    await requirePoolFor(ctx, scope, { poolId: execution.agent_pool_id, pointer })
  }
  const { repository, columns: repositoryColumns } = changeRepository(input.attributes, workspace.repository)
  const settingColumns = {
    ...workspaceSettingColumns(input.attributes, { clientEngine, current: workspace }),
    ...repositoryColumns,
    ...execution,
    project_id: project?.id,
    updated_at: ctx.now(),
  }
  return transact(ctx, async (ctx) => {
    const scope = { organizationId, projectId: project?.id ?? workspace.project_id }
    const columns = {
      ...settingColumns,
      ...(repository && { repository_id: await putRepository(ctx, { ...scope, ...repository }) }),
    }
    // The current configuration is not the one that the workspace follows now.
    const outdated = followsOther(workspace, columns) ? { current_configuration_version_id: null } : {}
    await rejectTakenWorkspaceName(input.attributes.name ?? workspace.name, () =>
      store.updateWorkspace(ctx.db, workspace, { ...columns, ...outdated }),
    )
    await changeTags(ctx, { organizationId, workspaceId }, input)
    if (columns.repository_id !== undefined) await leaveRepository(ctx, workspace, columns.repository_id)
    if (followsOther(workspace, columns)) await raise(ctx, repositoryChosen, { workspaceId })
    const changes = { ...input.attributes, project: project?.id, ...changedTags(input) }
    const settings = { before: workspace, columns }
    const event = { ...workspaceAudit(workspace, 'update', { name: workspace.name, changes }), settings }
    await recordAudits(ctx, moves ? await withMoves(ctx, [workspace], () => event) : [event])
    return requireWorkspace(ctx, workspaceId, 'workspace:read')
  })
}

/** Whether a change makes the workspace follow another repository or branch. */
function followsOther(
  before: Workspace,
  { repository_id: id, vcs_branch: branch }: { repository_id?: string | null; vcs_branch?: string | null },
) {
  if (!id) return false
  return id !== before.repository_id || (branch !== undefined && branch !== before.vcs_branch)
}

/** A repository that a workspace no longer uses may be the last one's. */
async function leaveRepository(ctx: TransactionCtx, { repository_id: before }: Workspace, after: string | null) {
  if (before !== null && before !== after) await raise(ctx, repositoryLeft, { repositoryId: before })
}

/** Assigns a key of the organization to the runs of a workspace; null removes it. */
export async function assignSshKey(ctx: Ctx, id: string, keyId: string | null) {
  const workspace = await requireWorkspace(ctx, id, 'workspace:update')
  const key = keyId === null ? undefined : await findSshKey(ctx.db, keyId)
  if (keyId !== null && key?.organization_id !== workspace.organization_id)
    throw invalid(`the organization has no SSH key ${keyId}`, '/data/attributes/id')
  const columns = { ssh_key_id: keyId, updated_at: ctx.now() }
  const changes = { 'ssh-key': key?.name ?? null }
  const event = workspaceAudit(workspace, 'update', { name: workspace.name, changes })
  return audited(ctx, { ...event, settings: { before: workspace, columns } }, async (ctx) => {
    await store.updateWorkspace(ctx.db, workspace, columns)
    return requireWorkspace(ctx, id, 'workspace:read')
  })
}

/** Moves all or none. Throws `invalid` for a workspace that the actor does not see, `forbidden` for one that it may not move. */
export async function moveWorkspaces(ctx: Ctx, projectId: string, identifiers: readonly Identifier[]) {
  const { organization_id: organizationId } = await requireProject(ctx, projectId, 'workspaces:create')
  const ids = identifiers.map(({ id }) => id)
  const workspaces = await requireWorkspaces(ctx, { organizationId, permission: 'workspace:move' }, identifiers)
  await transact(ctx, async (ctx) => {
    await store.moveWorkspaces(ctx.db, ids, { organizationId, projectId, now: ctx.now() })
    const eventOf = (workspace: Workspace) => ({
      ...workspaceAudit(workspace, 'update', { name: workspace.name, changes: { project: projectId } }),
      settings: { before: workspace, columns: { project_id: projectId } },
    })
    await recordAudits(ctx, await withMoves(ctx, workspaces, eventOf))
  })
}

/** The events of moves, with a notice for the teams of each workspace's previous project: they may no longer see it. */
async function withMoves(
  ctx: Ctx,
  workspaces: readonly Workspace[],
  eventOf: (workspace: Workspace) => AuditEvent,
): Promise<AuditEvent[]> {
  const rows = await listTeamsOfProjects(
    ctx.db,
    workspaces.map((workspace) => workspace.project_id),
  )
  const teamsOf = Map.groupBy(rows, (row) => row.project_id)
  return workspaces.map((workspace) => {
    const { id, project_id: projectId } = workspace
    const event = eventOf(workspace)
    const teams = teamsOf.get(projectId)?.map((row) => row.team_id) ?? []
    const notices = [...event.notices, { type: 'workspaces' as const, id, workspace: id, teams }]
    return { ...event, notices, changesAccess: true }
  })
}

/** Replaces the tag bindings and adds the flat tags in the body; omitted lists change nothing. */
async function changeTags(
  ctx: TransactionCtx,
  target: { organizationId: string; workspaceId: string },
  { relationships }: UpdateWorkspace,
) {
  const bindings = relationships['tag-bindings']?.data.map((tag) => tag.attributes)
  if (bindings) await replaceTagBindings(ctx, target, bindings)
  if (relationships.tags) await addFlatTags(ctx, target, relationships.tags.data, '/data/relationships/tags/data')
}

function changedTags({ relationships }: Pick<UpdateWorkspace, 'relationships'>) {
  return {
    'tag-bindings': relationships['tag-bindings']?.data.map((tag) => tag.attributes),
    tags: relationships.tags?.data,
  }
}

/** The visible workspaces whose runs may read this workspace's state. */
export async function listRemoteStateConsumers(ctx: Ctx, id: string, page: Page): Promise<Paged<Workspace>> {
  await requireWorkspace(ctx, id, 'workspace:read')
  const { rows, total } = await store.listConsumers(ctx.db, ctx.actor, id, page)
  return { rows: rows.flatMap((row) => readableWorkspace(ctx, row) ?? []), total }
}

export async function changeRemoteStateConsumers(
  ctx: Ctx,
  id: string,
  { change, consumers }: { change: 'add' | 'replace' | 'remove'; consumers: readonly Identifier[] },
) {
  const workspace = await requireWorkspace(ctx, id, 'workspace:update')
  const ids = await requireVisibleWorkspaces(ctx, workspace.organization_id, consumers)
  const meta = { name: workspace.name, consumers: ids }
  await audited(ctx, workspaceAudit(workspace, `${change}_remote_state_consumers`, meta), async (ctx) => {
    if (change === 'remove') return store.deleteConsumers(ctx.db, id, ids)
    if (change === 'replace') await store.deleteVisibleConsumers(ctx.db, ctx.actor, id)
    return store.insertConsumers(ctx.db, id, ids)
  })
}
