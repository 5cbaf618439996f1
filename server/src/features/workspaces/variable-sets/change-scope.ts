import type { Identifier } from '@groundstate/contract/json-api'
import type { UpdateVariableSet } from '@groundstate/contract/variable-sets'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { invalid } from '../../../errors.ts'
import { listReadableProjects } from '../../organizations/projects/access.ts'
import { listReadableWorkspaces, requireVisibleWorkspaces } from '../workspaces/access.ts'
import { requireVariableSet } from './access.ts'
import { variableSetAudit } from './audit.ts'
import * as store from './store.ts'
import type { VariableSet } from './variable-set.ts'

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

/** Replaces the workspaces or projects where the set applies by those in the body; what is left out stays. */
export async function replaceSetScope(
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
