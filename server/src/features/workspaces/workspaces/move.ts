import type { Identifier } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { requireProject } from '../../organizations/projects/access.ts'
import { listTeamIds } from '../../organizations/projects/store.ts'
import { readableWorkspace } from './access.ts'
import { workspaceAudit } from './audit.ts'
import * as store from './store.ts'

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

/** The notices for those who may no longer see a workspace that has left its project. */
export async function moveNotices(
  ctx: Ctx,
  { id, project_id: projectId }: { id: string; project_id: string },
): Promise<AuditEvent['notices']> {
  return [{ type: 'workspaces', id, workspace: id, teams: await listTeamIds(ctx.db, projectId) }]
}
