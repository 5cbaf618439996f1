import type { Identifier } from '@groundstate/contract/json-api'
import type { CreateVariableSet, UpdateVariableSet } from '@groundstate/contract/variable-sets'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/service.ts'
import { listReadableProjects, requireProjectIn } from '../../organizations/projects/service.ts'
import { listReadableWorkspaces } from '../workspaces/service.ts'
import { requireVariableSet, type VariableSet } from './service.ts'
import * as store from './store.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { changeVariable, insertVariable, variableAudit } from '../variables/values.ts'
import { lockVariables } from '../variables/store.ts'
import { requireVisibleWorkspaces } from '../workspaces/consumers.ts'

/** Creates a set with its variables and where it applies, owned by the organization or by one of its projects. */
export async function createVariableSet(
  ctx: Ctx,
  organizationName: string,
  { attributes, relationships }: CreateVariableSet,
): Promise<VariableSet> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const owner = await requireOwner(ctx, organization, relationships.parent?.data)
  return unique(() =>
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
      await setScope(ctx, scope, relationships)
      await setVariables(ctx, scope, relationships.vars?.data ?? [])
      await recordAudit(ctx, setAudit({ ...scope, name: attributes.name }, 'create'))
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

/**
 * Changes a set; workspaces or projects in the body take the place of those where it applies, variables are added to its
 * own.
 */
export async function updateVariableSet(
  ctx: Ctx,
  id: string,
  { attributes, relationships }: UpdateVariableSet,
): Promise<VariableSet> {
  const set = await requireVariableSet(ctx, id, 'manage')
  return unique(() =>
    transact(ctx, async (ctx) => {
      await store.updateVariableSet(ctx.db, id, {
        name: attributes.name,
        description: attributes.description ?? undefined,
        is_global: attributes.global ?? undefined,
        priority: attributes.priority ?? undefined,
        updated_at: ctx.now(),
      })
      await setScope(ctx, set, relationships)
      const { vars, ...scope } = relationships
      await setVariables(ctx, set, vars?.data ?? [])
      await recordAudit(ctx, setAudit(set, 'update', { changes: { ...attributes, ...scope } }))
      return requireVariableSet(ctx, id, 'read')
    }),
  )
}

type VariableChange = NonNullable<UpdateVariableSet['relationships']['vars']>['data'][number]

/** Adds variables to the set, and changes those that are named by their id; each leaves an event of its own. */
async function setVariables(ctx: TransactionCtx, set: Scoped, changes: readonly VariableChange[]) {
  const owner = { variableSetId: set.id }
  const named = changes.flatMap(({ id }) => id ?? [])
  const known = new Set(named.length === 0 ? [] : await lockVariables(ctx.db, owner, named))
  for (const [index, change] of changes.entries()) {
    const place = `/data/relationships/vars/data/${index}`
    const pointer = `${place}/attributes`
    if (change.id === undefined) {
      const { attributes: input } = change
      const event = variableAudit(set.organization_id, 'create')
      await audited(ctx, event, (ctx) => insertVariable(ctx, owner, { input, pointer }))
    } else if (!known.has(change.id)) {
      throw invalid(`the set has no variable ${change.id}`, `${place}/id`)
    } else if (change.attributes) {
      const { id, attributes: input } = change
      const event = variableAudit(set.organization_id, 'update', input)
      await audited(ctx, event, (ctx) => changeVariable(ctx, owner, { id, input, pointer }))
    }
  }
}

export async function deleteVariableSet(ctx: Ctx, id: string) {
  const set = await requireVariableSet(ctx, id, 'manage')
  await audited(ctx, setAudit(set, 'destroy'), (ctx) => store.deleteVariableSet(ctx.db, id))
}

export async function addSetWorkspaces(ctx: Ctx, id: string, identifiers: readonly Identifier[]) {
  const set = await requireVariableSet(ctx, id, 'manage')
  const workspaces = await requireSetWorkspaces(ctx, set, { identifiers, pointer: '/data' })
  const event = setAudit(set, 'add_workspaces', { workspaces })
  await audited(ctx, event, (ctx) => store.insertWorkspaces(ctx.db, id, workspaces))
}

export async function removeSetWorkspaces(ctx: Ctx, id: string, identifiers: readonly Identifier[]) {
  const set = await requireVariableSet(ctx, id, 'manage')
  const workspaces = await requireVisibleWorkspaces(ctx, set.organization_id, identifiers)
  const event = setAudit(set, 'remove_workspaces', { workspaces })
  await audited(ctx, event, (ctx) => store.deleteWorkspaces(ctx.db, id, workspaces))
}

export async function addSetProjects(ctx: Ctx, id: string, identifiers: readonly Identifier[]) {
  const set = await requireVariableSet(ctx, id, 'manage')
  const projects = await requireSetProjects(ctx, set, { identifiers, pointer: '/data' })
  await audited(ctx, setAudit(set, 'add_projects', { projects }), (ctx) => store.insertProjects(ctx.db, id, projects))
}

export async function removeSetProjects(ctx: Ctx, id: string, identifiers: readonly Identifier[]) {
  const set = await requireVariableSet(ctx, id, 'manage')
  const projects = await requireSetProjects(ctx, set, { identifiers, pointer: '/data' })
  const event = setAudit(set, 'remove_projects', { projects })
  await audited(ctx, event, (ctx) => store.deleteProjects(ctx.db, id, projects))
}

function setAudit(set: { id: string; organization_id: string; name: string }, action: string, meta: object = {}) {
  const { id, organization_id: organizationId, name } = set
  return { organizationId, action, resource: { type: 'variable_set', id }, meta: { name, ...meta } }
}

type Scoped = Pick<VariableSet, 'id' | 'organization_id' | 'project_id'>

async function setScope(
  ctx: Ctx & { db: Parameters<typeof store.deleteVisibleWorkspaces>[0] },
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

async function unique<T>(work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'variable_sets_name_key')) {
      throw invalid('Name has already been taken', '/data/attributes/name')
    }
    throw error
  }
}
