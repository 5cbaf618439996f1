import type { UpdateProject } from '@groundstate/contract/projects'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { replaceTagBindings } from '../tags/bind.ts'
import { requireProject } from './access.ts'
import { projectAudit } from './audit.ts'
import { refuseTakenProjectName } from './name.ts'
import type { CountedProject } from './project.ts'
import { readDefaults } from './read-defaults.ts'
import { showProject } from './show.ts'
import * as store from './store.ts'

export async function updateProject(ctx: Ctx, id: string, input: UpdateProject): Promise<CountedProject> {
  const project = await requireProject(ctx, id, 'project:update')
  const { attributes } = input
  const current = { mode: project.default_execution_mode, pool: project.default_agent_pool_id }
  const settings = await readDefaults(ctx, project.organization_id, current, input)
  return transact(ctx, async (ctx) => {
    await refuseTakenProjectName(() =>
      store.updateProject(ctx.db, id, {
        name: attributes.name,
        description: attributes.description,
        auto_destroy_activity_duration: attributes['auto-destroy-activity-duration'],
        ...settings,
        updated_at: ctx.now(),
      }),
    )
    const tags = input.relationships['tag-bindings']?.data.map((tag) => tag.attributes)
    if (tags) await replaceTagBindings(ctx, { organizationId: project.organization_id, projectId: id }, tags)
    const teams = await store.listTeamIds(ctx.db, id)
    await recordAudit(ctx, projectAudit(project, 'update', { teams, changes: { ...attributes, tags } }))
    return showProject(ctx, id)
  })
}
