import type { Identifier } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { requireProject } from '../../organizations/projects/access.ts'
import { readableWorkspace } from './access.ts'
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
    await store.moveWorkspaces(ctx.db, ids, { projectId, now: ctx.now() })
    for (const id of ids) {
      await recordAudit(ctx, {
        organizationId,
        action: 'update',
        resource: { type: 'workspace', id },
        meta: { name: found.get(id)?.name, changes: { project: projectId } },
      })
    }
  })
}
