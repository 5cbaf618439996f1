import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { deleteProject } from '../../organizations/projects/delete.ts'
import { deleteWorkspace } from '../../runs/workspace-deletion/delete.ts'
import { deleteTask } from '../../tasks/run-tasks/delete.ts'
import { deleteWorkspaceTask } from '../../tasks/workspace-tasks/delete.ts'
import { deleteVariableSet } from '../../workspaces/variable-sets/delete.ts'
import { checkSampleMaker, requireSample } from './access.ts'
import { sampleAudit } from './audit.ts'
import { keptBecause } from './sample.ts'
import * as store from './store.ts'

/**
 * Removes the sample of an organization with everything in its workspaces, runs that are under way and resources included, by the verbs
 * that people use, which check permissions. What others have put into its project stays, and the project with it.
 */
export async function deleteSample(ctx: Ctx, organizationName: string) {
  const { organization } = await requireSample(ctx, organizationName)
  checkSampleMaker(organization)
  await transact(ctx, async (ctx) => {
    const sample = await store.lockSample(ctx.db, organization.id)
    if (!sample) throw notFound('sample')
    const { network, app, task, set, project, attachments } = await store.findContents(ctx.db, sample)
    // Downstream first: no run of the app is started while its source goes.
    const workspaces = [app, network].flatMap((workspace) => workspace ?? [])
    for (const { id } of workspaces) await deleteWorkspace(ctx, { id }, { isForced: true })
    for (const { id, workspace_id: workspaceId } of attachments) {
      if (!workspaces.some((workspace) => workspace.id === workspaceId))
        await deleteWorkspaceTask(ctx, { workspaceId, id })
    }
    if (task) await deleteTask(ctx, task.id)
    if (set) await deleteVariableSet(ctx, set.id)
    if (project && keptBecause(project) === undefined) await deleteProject(ctx, project.id)
    await store.deleteSample(ctx.db, sample.id)
    await recordAudit(ctx, sampleAudit(sample, 'destroy'))
  })
}
