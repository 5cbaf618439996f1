import type { Identifier } from '@groundstate/contract/json-api'
import type { CreateVariableSet, UpdateVariableSet } from '@groundstate/contract/variable-sets'
import type { CreateVariable, UpdateVariable } from '@groundstate/contract/variables'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { type Page, type Paged, rejectTakenName, transact } from '../../../db/db.ts'
import { forbidden, invalid, notFound } from '../../../errors.ts'
import { type Organization, requireOrganization } from '../../organizations/organizations/access.ts'
import { listReadableProjects, requireProject, requireProjectIn } from '../../organizations/projects/access.ts'
import {
  createVariable,
  createVariables,
  destroyVariable,
  keepFormerValues,
  updateVariable,
  updateVariables,
} from '../variables/service.ts'
import { findVariable, listVariables } from '../variables/store.ts'
import { listReadableWorkspaces, requireVisibleWorkspaces, requireWorkspace } from '../workspaces/access.ts'
import { insertFormerScope } from '../workspaces/set-scope-store.ts'
import { noticedSet, readableSets, requireVariableSet, variableSetAudit } from './access.ts'
import { listOverridesOfSet, listOverwrites } from './effective-variables.ts'
import type { SetWorkspace } from './resource.ts'
import * as store from './store.ts'

/** Creates a set with its variables and its scope, owned by the organization or by one of its projects. */
export async function createVariableSet(ctx: Ctx, organizationName: string, input: CreateVariableSet) {
  const { attributes, relationships } = input
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const owner = await requireOwner(ctx, organization, relationships.parent?.data)
  return rejectTakenSetName(() =>
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
      // The variables have separate events.
      const { vars: _, ...applied } = relationships
      const meta = { changes: { ...attributes, ...applied } }
      await recordAudit(ctx, await variableSetAudit(ctx, { ...scope, name: attributes.name }, 'create', meta))
      return requireVariableSet(ctx, id, 'read')
    }),
  )
}

/** The id of the project that will own a new set; null for the organization. */
async function requireOwner(ctx: Ctx, organization: Organization, parent: Identifier | undefined) {
  const pointer = '/data/relationships/parent'
  if (parent?.type === 'projects') {
    const reference = { id: parent.id, permission: 'variable-sets:manage', pointer } as const
    return (await requireProjectIn(ctx, organization.id, reference)).id
  }
  if (parent && parent.id.toLowerCase() !== organization.name.toLowerCase()) {
    throw invalid(`a set of ${organization.name} can't belong to ${parent.id}`, pointer)
  }
  if (!organization.can.has('variable-sets:manage')) {
    throw forbidden(`this needs the permission variable-sets:manage in the organization ${organization.name}`)
  }
  return null
}

type ListVariableSets = { page: Page; filter: store.VariableSetFilter }
type WorkspaceSets = ListVariableSets & { kind: 'workspace' | 'applicable' }
type ProjectSets = ListVariableSets & { kind: 'project' | 'owned' }

export async function listOrganizationSets(ctx: Ctx, organizationName: string, query: ListVariableSets) {
  const organization = await requireOrganization(ctx, organizationName, 'variable-sets:read')
  return listSets(ctx, organization.id, { kind: 'organization' }, query)
}

export async function listWorkspaceSets(ctx: Ctx, workspaceId: string, { kind, ...query }: WorkspaceSets) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:read')
  return listSets(ctx, workspace.organization_id, { kind, workspaceId, projectId: workspace.project_id }, query)
}

export async function listProjectSets(ctx: Ctx, projectId: string, { kind, ...query }: ProjectSets) {
  const project = await requireProject(ctx, projectId, 'project:read')
  return listSets(ctx, project.organization_id, { kind, projectId }, query)
}

async function listSets(
  ctx: Ctx,
  organizationId: string,
  scope: store.VariableSetScope,
  { page, filter }: ListVariableSets,
): Promise<Paged<store.VariableSet>> {
  const { rows, total } = await store.listVariableSets(ctx.db, ctx.actor, { organizationId, scope, filter }, page)
  return { rows: await readableSets(ctx, organizationId, rows), total }
}

type SetWorkspaces = { page: Page; q: string | undefined; scope: store.EffectiveSet['scope'] | undefined }

/** The workspaces to which the set applies, with the variables of it that they override; undefined where the actor may not read them. */
export async function listSetWorkspaces(ctx: Ctx, id: string, query: SetWorkspaces): Promise<Paged<SetWorkspace>> {
  const set = await requireVariableSet(ctx, id, 'read')
  const { rows, total } = await store.listSetWorkspaces(ctx.db, ctx.actor, set, query)
  const workspaces = await listReadableWorkspaces(
    ctx,
    rows.map((row) => row.id),
  )
  const readable = workspaces.filter(({ can }) => can.has('variables:read')).map((workspace) => workspace.id)
  const isShown = set.variable_ids.length > 0 && readable.length > 0
  const overrides = isShown ? await listOverridesOfSet(ctx, id, readable) : undefined
  const none = set.variable_ids.length > 0 ? undefined : []
  return { rows: rows.map((row) => ({ ...row, overridden: overrides?.get(row.id) ?? none })), total }
}

/** Changes a set. Workspaces and projects in the body replace its scope; variables are added or changed. */
export async function updateVariableSet(ctx: Ctx, id: string, { attributes, relationships }: UpdateVariableSet) {
  const set = await requireVariableSet(ctx, id, 'manage')
  return rejectTakenSetName(() =>
    transact(ctx, async (ctx) => {
      const columns = {
        name: attributes.name,
        description: attributes.description ?? undefined,
        is_global: attributes.global ?? undefined,
        priority: attributes.priority ?? undefined,
        updated_at: ctx.now(),
      }
      const shrinks = attributes.global === false || relationships.workspaces || relationships.projects
      if (shrinks) await insertFormerScope(ctx.db, { setId: id })
      await store.updateVariableSet(ctx.db, id, columns)
      await replaceSetScope(ctx, set, relationships)
      const { vars, ...scope } = relationships
      await changeVariables(ctx, set, vars?.data ?? [])
      const event = await variableSetAudit(ctx, set, 'update', { changes: { ...attributes, ...scope } })
      await recordAudit(ctx, { ...event, settings: { before: set, columns } })
      return requireVariableSet(ctx, id, 'read')
    }),
  )
}

type ScopeInput = Pick<UpdateVariableSet['relationships'], store.ScopeKind>
type Scoped = Pick<store.VariableSet, 'id' | 'organization_id' | 'project_id'>
type Named = { identifiers: readonly Identifier[]; pointer: string }

type ScopeChange = { change: 'add' | 'remove'; kind: store.ScopeKind; identifiers: readonly Identifier[] }

export async function changeSetScope(ctx: Ctx, id: string, { change, kind, identifiers }: ScopeChange) {
  const set = await requireVariableSet(ctx, id, 'manage')
  const ids =
    change === 'remove' && kind === 'workspaces'
      ? await requireVisibleWorkspaces(ctx, set.organization_id, identifiers)
      : await requireInScope[kind](ctx, set, { identifiers, pointer: '/data' })
  const event = await variableSetAudit(ctx, set, `${change}_${kind}`, { [kind]: ids })
  await audited(ctx, event, async (ctx) => {
    if (change === 'add') return store.insertScope(ctx.db, id, kind, ids)
    await insertFormerScope(ctx.db, { setId: id })
    return store.deleteScope(ctx.db, id, kind, ids)
  })
}

/** Replaces the workspaces or projects where the set applies by those in the body; an omitted list is unchanged. */
async function replaceSetScope(ctx: TransactionCtx, set: Scoped, relationships: ScopeInput) {
  for (const kind of ['workspaces', 'projects'] as const) {
    const identifiers = relationships[kind]?.data
    if (!identifiers) continue
    const ids = await requireInScope[kind](ctx, set, { identifiers, pointer: `/data/relationships/${kind}/data` })
    await store.deleteVisibleScope(ctx.db, ctx.actor, set.id, kind)
    await store.insertScope(ctx.db, set.id, kind, ids)
  }
}

const requireInScope = { workspaces: requireSetWorkspaces, projects: requireSetProjects }

/** The ids of workspaces that the actor sees; a project's set applies only inside its project. */
async function requireSetWorkspaces(ctx: Ctx, set: Scoped, { identifiers, pointer }: Named) {
  const ids = await requireVisibleWorkspaces(ctx, set.organization_id, identifiers, pointer)
  if (set.project_id === null) return ids
  const workspaces = await listReadableWorkspaces(ctx, ids)
  const outside = workspaces.find((workspace) => workspace.project_id !== set.project_id)
  if (!outside) return ids
  const detail = `the workspace ${outside.name} is not in the project that owns the set`
  throw invalid(detail, `${pointer}/${ids.indexOf(outside.id)}/id`)
}

async function requireSetProjects(ctx: Ctx, set: Scoped, { identifiers, pointer }: Named) {
  const ids = identifiers.map(({ id }) => id)
  const projects = await listReadableProjects(ctx, ids)
  const inOrganization = projects.filter((project) => project.organization_id === set.organization_id)
  const known = new Set(inOrganization.map((project) => project.id))
  const missing = ids.findIndex((id) => !known.has(id))
  if (missing >= 0) throw invalid(`there is no project ${ids[missing]} in the organization`, `${pointer}/${missing}/id`)
  const outside = set.project_id === null ? -1 : ids.findIndex((id) => id !== set.project_id)
  if (outside >= 0) throw invalid('a set that a project owns applies to no other project', `${pointer}/${outside}/id`)
  return ids
}

export async function deleteVariableSet(ctx: Ctx, id: string) {
  const set = await requireVariableSet(ctx, id, 'manage')
  await audited(ctx, await variableSetAudit(ctx, set, 'destroy'), async (ctx) => {
    const owner = { variableSetId: id, organizationId: set.organization_id }
    await insertFormerScope(ctx.db, { setId: id })
    await keepFormerValues(ctx, owner, { replaced: await listVariables(ctx.db, owner) })
    await store.deleteVariableSet(ctx.db, id)
  })
}

/** Runs a change that sets a set's name. Throws `invalid` when the owner has another set with that name. */
async function rejectTakenSetName<T>(work: () => Promise<T>) {
  return rejectTakenName({ constraint: 'variable_sets_name_key' }, work)
}

export async function createSetVariable(ctx: Ctx, variableSetId: string, input: CreateVariable) {
  const set = await requireVariableSet(ctx, variableSetId, 'manage')
  const owner = { variableSetId, organizationId: set.organization_id, set: await noticedSet(ctx, set) }
  return createVariable(ctx, owner, input)
}

type SetVariableKey = { variableSetId: string; id: string }

export async function updateSetVariable(ctx: Ctx, { variableSetId, id }: SetVariableKey, input: UpdateVariable) {
  const set = await requireVariableSet(ctx, variableSetId, 'manage')
  const owner = { variableSetId, organizationId: set.organization_id, set: await noticedSet(ctx, set) }
  return updateVariable(ctx, owner, { id, input })
}

export async function deleteSetVariable(ctx: Ctx, { variableSetId, id }: SetVariableKey) {
  const set = await requireVariableSet(ctx, variableSetId, 'manage')
  const owner = { variableSetId, organizationId: set.organization_id, set: await noticedSet(ctx, set) }
  await destroyVariable(ctx, owner, id)
}

type VariableChange = NonNullable<UpdateVariableSet['relationships']['vars']>['data'][number]

/** Adds the variables without an id to the set and changes those with one. Each change has a separate audit event. */
async function changeVariables(ctx: TransactionCtx, set: Scoped, changes: readonly VariableChange[]) {
  const owner = { variableSetId: set.id, organizationId: set.organization_id }
  const placed = changes.map((change, index) => ({ change, pointer: `/data/relationships/vars/data/${index}` }))
  const added = placed.flatMap(({ change, pointer }) =>
    change.id === undefined ? { input: change.attributes, pointer } : [],
  )
  const changed = placed.flatMap(({ change: { id, attributes }, pointer }) =>
    id === undefined ? [] : { id, input: attributes, pointer },
  )
  // Changes may give up the keys of new variables.
  await updateVariables(ctx, owner, changed)
  await createVariables(ctx, owner, added)
}

export async function listSetVariables(ctx: Ctx, variableSetId: string) {
  const set = await requireVariableSet(ctx, variableSetId, 'read')
  return set.variable_ids.length === 0 ? [] : listVariables(ctx.db, { variableSetId })
}

export async function showSetVariable(ctx: Ctx, variableSetId: string, id: string) {
  const set = await requireVariableSet(ctx, variableSetId, 'read')
  const variable = set.variable_ids.includes(id) ? await findVariable(ctx.db, { variableSetId }, id) : undefined
  if (!variable) throw notFound('variable')
  return variable
}

/** The variables of a set that is effective in the workspace, each with the variables that it overwrites or is overwritten by. */
export async function listSetVariablesIn(ctx: Ctx, workspaceId: string, variableSetId: string) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:read')
  const set = await requireVariableSet(ctx, variableSetId, 'read')
  const scope = { workspaceId, projectId: workspace.project_id, organizationId: workspace.organization_id }
  const { rows: effective } = await store.selectEffectiveSets(scope).execute(ctx.db)
  if (!effective.some(({ id }) => id === set.id)) throw notFound('variable set')
  const [rows, overwrites] = await Promise.all([listVariables(ctx.db, { variableSetId }), listOverwrites(ctx, scope)])
  return rows.map((row) => ({ row, overwrites: overwrites.get(row.id) }))
}

export async function showSetVariableIn(
  ctx: Ctx,
  { workspaceId, variableSetId, variableId }: { workspaceId: string; variableSetId: string; variableId: string },
) {
  const variables = await listSetVariablesIn(ctx, workspaceId, variableSetId)
  const variable = variables.find(({ row }) => row.id === variableId)
  if (!variable) throw notFound('variable')
  return variable
}
