import type { Identifier } from '@groundstate/contract/json-api'
import type { CreateVariableSet, UpdateVariableSet } from '@groundstate/contract/variable-sets'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { type Page, type Paged, pageOffset, refuseTakenName, transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { listReadableProjects, requireProject, requireProjectIn } from '../../organizations/projects/access.ts'
import { listReadableWorkspaces, requireVisibleWorkspaces, requireWorkspace } from '../workspaces/access.ts'
import { readableSets, requireVariableSet, variableSetAudit } from './access.ts'
import type { VariableSet } from './store.ts'
import * as store from './store.ts'
import { changeVariables } from './variables.ts'

/** Creates a set with its variables and where it applies, owned by the organization or by one of its projects. */
export async function createVariableSet(
  ctx: Ctx,
  organizationName: string,
  { attributes, relationships }: CreateVariableSet,
): Promise<VariableSet> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const owner = await requireOwner(ctx, organization, relationships.parent?.data)
  return refuseTakenSetName(() =>
    transact(ctx, async (ctx) => {
      const id = ctx.newId('varset')
      const now = ctx.now()
      await store.insertVariableSet(ctx.db, {
        id,
        organization_id: organization.id,
        project_id: owner,
        name: attributes.name,
        description: attributes.description ?? '',
        is_global: attributes.global ?? false,
        priority: attributes.priority ?? false,
        created_at: now,
        updated_at: now,
      })
      const scope = { id, organization_id: organization.id, project_id: owner }
      await replaceSetScope(ctx, scope, relationships)
      await changeVariables(ctx, scope, relationships.vars?.data ?? [])
      // The variables have events of their own.
      const { vars: _, ...applied } = relationships
      const meta = { changes: { ...attributes, ...applied } }
      await recordAudit(ctx, await variableSetAudit(ctx, { ...scope, name: attributes.name }, 'create', meta))
      return requireVariableSet(ctx, id, 'read')
    }),
  )
}

/** The id of the project that is to own a new set; null for the organization itself. */
async function requireOwner(
  ctx: Ctx,
  organization: Awaited<ReturnType<typeof requireOrganization>>,
  parent: Identifier | undefined,
) {
  if (parent?.type === 'projects') {
    const project = await requireProjectIn(ctx, organization.id, {
      id: parent.id,
      permission: 'variable-sets:manage',
      pointer: '/data/relationships/parent',
    })
    return project.id
  }
  if (parent && parent.id.toLowerCase() !== organization.name.toLowerCase()) {
    throw invalid(`a set of ${organization.name} can't belong to ${parent.id}`, '/data/relationships/parent')
  }
  if (!organization.can.has('variable-sets:manage')) {
    throw forbidden(`this needs the permission variable-sets:manage in the organization ${organization.name}`)
  }
  return null
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
  return { rows: await readableSets(ctx, organizationId, rows), total }
}

/**
 * Changes a set. Workspaces and projects in the body replace those where it applies; variables are added or changed.
 */
export async function updateVariableSet(
  ctx: Ctx,
  id: string,
  { attributes, relationships }: UpdateVariableSet,
): Promise<VariableSet> {
  const set = await requireVariableSet(ctx, id, 'manage')
  return refuseTakenSetName(() =>
    transact(ctx, async (ctx) => {
      await store.updateVariableSet(ctx.db, id, {
        name: attributes.name,
        description: attributes.description ?? undefined,
        is_global: attributes.global ?? undefined,
        priority: attributes.priority ?? undefined,
        updated_at: ctx.now(),
      })
      await replaceSetScope(ctx, set, relationships)
      const { vars, ...scope } = relationships
      await changeVariables(ctx, set, vars?.data ?? [])
      await recordAudit(ctx, await variableSetAudit(ctx, set, 'update', { changes: { ...attributes, ...scope } }))
      return requireVariableSet(ctx, id, 'read')
    }),
  )
}

export async function addSetWorkspaces(ctx: Ctx, id: string, identifiers: readonly Identifier[]) {
  const set = await requireVariableSet(ctx, id, 'manage')
  const workspaces = await requireSetWorkspaces(ctx, set, { identifiers, pointer: '/data' })
  const event = await variableSetAudit(ctx, set, 'add_workspaces', { workspaces })
  await audited(ctx, event, (ctx) => store.insertWorkspaces(ctx.db, id, workspaces))
}

export async function removeSetWorkspaces(ctx: Ctx, id: string, identifiers: readonly Identifier[]) {
  const set = await requireVariableSet(ctx, id, 'manage')
  const workspaces = await requireVisibleWorkspaces(ctx, set.organization_id, identifiers)
  const event = await variableSetAudit(ctx, set, 'remove_workspaces', { workspaces })
  await audited(ctx, event, (ctx) => store.deleteWorkspaces(ctx.db, id, workspaces))
}

export async function addSetProjects(ctx: Ctx, id: string, identifiers: readonly Identifier[]) {
  const set = await requireVariableSet(ctx, id, 'manage')
  const projects = await requireSetProjects(ctx, set, { identifiers, pointer: '/data' })
  const event = await variableSetAudit(ctx, set, 'add_projects', { projects })
  await audited(ctx, event, (ctx) => store.insertProjects(ctx.db, id, projects))
}

export async function removeSetProjects(ctx: Ctx, id: string, identifiers: readonly Identifier[]) {
  const set = await requireVariableSet(ctx, id, 'manage')
  const projects = await requireSetProjects(ctx, set, { identifiers, pointer: '/data' })
  const event = await variableSetAudit(ctx, set, 'remove_projects', { projects })
  await audited(ctx, event, (ctx) => store.deleteProjects(ctx.db, id, projects))
}

type Scoped = Pick<VariableSet, 'id' | 'organization_id' | 'project_id'>

/** Replaces the workspaces or projects where the set applies by those in the body; an omitted list is unchanged. */
async function replaceSetScope(
  ctx: TransactionCtx,
  set: Scoped,
  { workspaces, projects }: Pick<UpdateVariableSet['relationships'], 'workspaces' | 'projects'>,
) {
  if (workspaces) {
    const pointer = '/data/relationships/workspaces/data'
    const ids = await requireSetWorkspaces(ctx, set, { identifiers: workspaces.data, pointer })
    await store.deleteVisibleWorkspaces(ctx.db, ctx.actor, set.id)
    await store.insertWorkspaces(ctx.db, set.id, ids)
  }
  if (projects) {
    const pointer = '/data/relationships/projects/data'
    const ids = await requireSetProjects(ctx, set, { identifiers: projects.data, pointer })
    await store.deleteVisibleProjects(ctx.db, ctx.actor, set.id)
    await store.insertProjects(ctx.db, set.id, ids)
  }
}

type Named = { identifiers: readonly Identifier[]; pointer: string }

/** Workspaces that the actor sees; a project's set applies inside its project only. */
async function requireSetWorkspaces(ctx: Ctx, set: Scoped, { identifiers, pointer }: Named) {
  const ids = await requireVisibleWorkspaces(ctx, set.organization_id, identifiers, pointer)
  if (set.project_id === null) return ids
  const workspaces = await listReadableWorkspaces(ctx, ids)
  const outside = workspaces.find((workspace) => workspace.project_id !== set.project_id)
  if (!outside) return ids
  throw invalid(
    `the workspace ${outside.name} is not in the project that owns the set`,
    `${pointer}/${ids.indexOf(outside.id)}/id`,
  )
}

async function requireSetProjects(ctx: Ctx, set: Scoped, { identifiers, pointer }: Named) {
  const ids = identifiers.map(({ id }) => id)
  const projects = await listReadableProjects(ctx, ids)
  const known = new Set(
    projects.filter((project) => project.organization_id === set.organization_id).map((project) => project.id),
  )
  const missing = ids.findIndex((id) => !known.has(id))
  if (missing >= 0) throw invalid(`there is no project ${ids[missing]} in the organization`, `${pointer}/${missing}/id`)
  const outside = set.project_id === null ? -1 : ids.findIndex((id) => id !== set.project_id)
  if (outside >= 0) throw invalid('a set that a project owns applies to no other project', `${pointer}/${outside}/id`)
  return ids
}

export async function deleteVariableSet(ctx: Ctx, id: string) {
  const set = await requireVariableSet(ctx, id, 'manage')
  await audited(ctx, await variableSetAudit(ctx, set, 'destroy'), (ctx) => store.deleteVariableSet(ctx.db, id))
}

/** Runs a change that sets the name of a set. Throws `invalid` when the owner has another set of that name. */
async function refuseTakenSetName<T>(work: () => Promise<T>) {
  return refuseTakenName({ constraint: 'variable_sets_name_key' }, work)
}
