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

/** Creates a set with its variables and its scope, owned by the organization or by one of its projects. */
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
      // The variables have separate events.
      const { vars: _, ...applied } = relationships
      const meta = { changes: { ...attributes, ...applied } }
      await recordAudit(ctx, await variableSetAudit(ctx, { ...scope, name: attributes.name }, 'create', meta))
      return requireVariableSet(ctx, id, 'read')
    }),
  )
}

/** The id of the project that will own a new set; null for the organization. */
async function requireOwner(
  ctx: Ctx,
  organization: Awaited<ReturnType<typeof requireOrganization>>,
  parent: Identifier | undefined,
) {
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
  const window = { limit: page.size, offset: pageOffset(page) }
  const { rows, total } = await store.listVariableSets(ctx.db, ctx.actor, { organizationId, scope, filter }, window)
  return { rows: await readableSets(ctx, organizationId, rows), total }
}

/** Changes a set. Workspaces and projects in the body replace its scope; variables are added or changed. */
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

type Scoped = Pick<VariableSet, 'id' | 'organization_id' | 'project_id'>
type Named = { identifiers: readonly Identifier[]; pointer: string }

/** Applies a set to workspaces or projects, or removes it from them. */
export async function changeSetScope(
  ctx: Ctx,
  id: string,
  {
    change,
    kind,
    identifiers,
  }: { change: 'add' | 'remove'; kind: store.ScopeKind; identifiers: readonly Identifier[] },
) {
  const set = await requireVariableSet(ctx, id, 'manage')
  const ids =
    change === 'remove' && kind === 'workspaces'
      ? await requireVisibleWorkspaces(ctx, set.organization_id, identifiers)
      : await REQUIRE[kind](ctx, set, { identifiers, pointer: '/data' })
  const event = await variableSetAudit(ctx, set, `${change}_${kind}`, { [kind]: ids })
  const write = change === 'add' ? store.insertScope : store.deleteScope
  await audited(ctx, event, (ctx) => write(ctx.db, id, kind, ids))
}

/** Replaces the workspaces or projects where the set applies by those in the body; an omitted list is unchanged. */
async function replaceSetScope(
  ctx: TransactionCtx,
  set: Scoped,
  relationships: Pick<UpdateVariableSet['relationships'], store.ScopeKind>,
) {
  for (const kind of ['workspaces', 'projects'] as const) {
    const identifiers = relationships[kind]?.data
    if (!identifiers) continue
    const ids = await REQUIRE[kind](ctx, set, { identifiers, pointer: `/data/relationships/${kind}/data` })
    await store.deleteVisibleScope(ctx.db, ctx.actor, set.id, kind)
    await store.insertScope(ctx.db, set.id, kind, ids)
  }
}

const REQUIRE = { workspaces: requireSetWorkspaces, projects: requireSetProjects }

/** The ids of workspaces that the actor sees; a project's set applies only inside its project. */
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
  await audited(ctx, await variableSetAudit(ctx, set, 'destroy'), (ctx) => store.deleteVariableSet(ctx.db, id))
}

/** Runs a change that sets a set's name. Throws `invalid` when the owner has another set with that name. */
async function refuseTakenSetName<T>(work: () => Promise<T>) {
  return refuseTakenName({ constraint: 'variable_sets_name_key' }, work)
}
