import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { isForeignKeyViolation, transact } from '../../../db/db.ts'
import { conflict, forbidden } from '../../../errors.ts'
import { requireProject } from './access.ts'
import { projectAudit } from './audit.ts'
import * as store from './store.ts'

/** Throws `forbidden` for the default project, `conflict` while workspaces are in the project. */
export async function deleteProject(ctx: Ctx, id: string) {
  const project = await requireProject(ctx, id, 'project:delete')
  if (project.id === project.default_project_id) {
    throw forbidden(`${project.name} is the organization's default project, which can't be deleted`)
  }
  const refuse = (count: string) =>
    conflict(`the project ${project.name} has ${count}: move or delete them before you delete the project`)
  const [counts] = await store.countInProjects(ctx.db, [id])
  if (counts && counts.workspace_count > 0) {
    throw refuse(counts.workspace_count === 1 ? '1 workspace' : `${counts.workspace_count} workspaces`)
  }
  try {
    await transact(ctx, async (ctx) => {
      const teams = await store.listTeamIds(ctx.db, id)
      await store.deleteProject(ctx.db, id)
      await recordAudit(ctx, projectAudit(project, 'destroy', { teams }))
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) throw refuse('workspaces')
    throw error
  }
}
