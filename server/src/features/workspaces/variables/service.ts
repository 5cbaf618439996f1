import type { CreateVariable, UpdateVariable, UpdateVariables } from '@groundstate/contract/variables'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { badRequest, forbidden, invalid, invalidParameter, notFound } from '../../../errors.ts'
import {
  listReadableWorkspaces,
  requireWorkspace,
  requireWorkspaceByName,
  type Workspace,
} from '../workspaces/service.ts'
import * as store from './store.ts'
import { changeVariable, destroyVariable, insertVariable, variableAudit } from './values.ts'
import { audited } from '../../../audit/record.ts'

export async function listWorkspaceVariables(ctx: Ctx, workspaceId: string) {
  await requireWorkspace(ctx, workspaceId, 'variables:read')
  return store.listVariables(ctx.db, { workspaceId })
}

/** Throws `invalid` unless both names are there, as the older interface has them in filters. */
export async function listVariablesByNames(
  ctx: Ctx,
  { organization, workspace }: { organization: string | undefined; workspace: string | undefined },
) {
  if (organization === undefined) throw missing('filter[organization][name]')
  if (workspace === undefined) throw missing('filter[workspace][name]')
  const found = await requireWorkspaceByName(ctx, organization, workspace, 'variables:read')
  return store.listVariables(ctx.db, { workspaceId: found.id })
}

function missing(parameter: string) {
  return invalidParameter(`${parameter} is missing`, parameter)
}

export async function showWorkspaceVariable(ctx: Ctx, workspaceId: string, id: string) {
  await requireWorkspace(ctx, workspaceId, 'variables:read')
  const variable = await store.findVariable(ctx.db, { workspaceId }, id)
  if (!variable) throw notFound('variable')
  return variable
}

export async function createWorkspaceVariable(ctx: Ctx, workspaceId: string, input: CreateVariable) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:write')
  const event = variableAudit(workspace.organization_id, 'create')
  return audited(ctx, event, (ctx) => insertVariable(ctx, { workspaceId }, { input }))
}

/** `key.workspaceId` is undefined in the older interface, which knows a variable by its id alone. */
export async function updateWorkspaceVariable(
  ctx: Ctx,
  key: { workspaceId?: string; id: string },
  input: UpdateVariable,
) {
  const workspace = await requireVariableWorkspace(ctx, key)
  const event = variableAudit(workspace.organization_id, 'update', input)
  return audited(ctx, event, (ctx) => changeVariable(ctx, { workspaceId: workspace.id }, { id: key.id, input }))
}

/** More than this many changes are no request of a person's any more. */
const MAX_CHANGES = 1000

/** Changes several variables, all or none. Throws `bad-request` for too many, `invalid` for one that the workspace has not. */
export async function updateWorkspaceVariables(ctx: Ctx, workspaceId: string, changes: UpdateVariables) {
  const workspace = await requireVariableWorkspace(ctx, { workspaceId, id: '' })
  if (changes.length > MAX_CHANGES)
    throw badRequest(`these are ${changes.length} variables, at most ${MAX_CHANGES} are taken`)
  await transact(ctx, async (ctx) => {
    const ids = changes.map(({ id }) => id)
    const known = new Set(await store.lockVariables(ctx.db, { workspaceId }, ids))
    for (const [index, { id, attributes = {} }] of changes.entries()) {
      if (!known.has(id)) throw invalid(`the workspace has no variable ${id}`, `/data/${index}/id`)
      const change = { id, input: attributes, pointer: `/data/${index}/attributes` }
      const event = variableAudit(workspace.organization_id, 'update', attributes)
      await audited(ctx, event, (ctx) => changeVariable(ctx, { workspaceId }, change))
    }
  })
}

export async function deleteWorkspaceVariable(ctx: Ctx, key: { workspaceId?: string; id: string }) {
  const workspace = await requireVariableWorkspace(ctx, key)
  await destroyVariable(ctx, { workspaceId: workspace.id }, { id: key.id, organizationId: workspace.organization_id })
}

async function requireVariableWorkspace(ctx: Ctx, key: { workspaceId?: string; id: string }): Promise<Workspace> {
  if (key.workspaceId !== undefined) {
    const workspace = await requireWorkspace(ctx, key.workspaceId, 'variables:read')
    return requireWritable(workspace)
  }
  const variable = await store.findWorkspaceVariable(ctx.db, key.id)
  const [workspace] = variable?.workspace_id ? await listReadableWorkspaces(ctx, [variable.workspace_id]) : []
  if (!workspace?.can.has('variables:read')) throw notFound('variable')
  return requireWritable(workspace)
}

function requireWritable(workspace: Workspace) {
  if (workspace.can.has('variables:write')) return workspace
  throw forbidden(`this needs the permission variables:write on the workspace ${workspace.name}`)
}
