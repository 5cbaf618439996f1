import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { listReadableOrganizations } from '../../organizations/organizations/access.ts'
import { listReadableProjects } from '../../organizations/projects/access.ts'
import { setNotice } from '../variables/access.ts'
import * as store from './store.ts'

/** Throws `not-found` for a set that the actor may not see, `forbidden` for one that it may only read but wants to manage. */
export async function requireVariableSet(ctx: Ctx, id: string, access: 'read' | 'manage'): Promise<store.VariableSet> {
  const row = await store.findVariableSet(ctx.db, ctx.actor, id)
  const [set] = row ? await readableSets(ctx, row.organization_id, [row]) : []
  if (!set) throw notFound('variable set')
  if (access === 'manage' && !set.canManage) {
    throw forbidden(`this needs the permission variable-sets:manage for the variable set ${set.name}`)
  }
  return set
}

/**
 * The sets that the actor may see: by its permissions in the organization, or in the project that owns the set. Those of the organization that
 * apply to no workspace or project that the actor sees are without their variables, unless the actor may manage them.
 */
export async function readableSets(ctx: Ctx, organizationId: string, rows: readonly store.VariableSetRow[]) {
  const projectIds = [...new Set(rows.flatMap((row) => row.project_id ?? []))]
  const [[organization], projects] = await Promise.all([
    listReadableOrganizations(ctx, [organizationId]),
    listReadableProjects(ctx, projectIds),
  ])
  const byId = new Map(projects.map((project) => [project.id, project.can]))
  return rows.flatMap((row): store.VariableSet[] => {
    const can = row.project_id === null ? organization?.can : byId.get(row.project_id)
    if (!can?.has('variable-sets:read')) return []
    const canManage = can.has('variable-sets:manage')
    const isInReach =
      row.project_id !== null || row.is_inherited || row.workspace_ids.length + row.project_ids.length > 0
    return [{ ...row, variable_ids: canManage || isInReach ? row.variable_ids : [], canManage }]
  })
}

type Audited = Pick<store.VariableSetRow, 'id' | 'organization_id' | 'project_id' | 'name'>

export async function variableSetAudit(ctx: Ctx, set: Audited, action: string, meta: object = {}): Promise<AuditEvent> {
  const { id, organization_id: organizationId, name } = set
  return {
    organizationId,
    action,
    resource: { type: 'variable_set', id },
    meta: { name, ...meta },
    notices: [setNotice(await noticedSet(ctx, set))],
  }
}

/** The set with the teams that see it, if a project owns it. */
export async function noticedSet(ctx: Ctx, { id, project_id: projectId }: Pick<Audited, 'id' | 'project_id'>) {
  return { id, teams: projectId === null ? undefined : await store.listTeamIds(ctx.db, projectId) }
}
