import type { CreateProject } from '@groundstate/contract/projects'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { requireOrganization } from '../organizations/access.ts'
import { replaceTagBindings } from '../tags/bind.ts'
import { projectAudit } from './audit.ts'
import { refuseTakenProjectName } from './name.ts'
import type { CountedProject } from './project.ts'
import { readDefaults } from './read-defaults.ts'
import { showProject } from './show.ts'
import * as store from './store.ts'

/** Every organization has one; workspaces are made in it unless another project is named. Returns its id. */
export async function insertDefaultProject(ctx: TransactionCtx, organizationId: string) {
  const now = ctx.now()
  const row = await store.insertProject(ctx.db, {
    id: ctx.newId('prj'),
    organization_id: organizationId,
    name: 'Default Project',
    created_at: now,
    updated_at: now,
  })
  return row.id
}

export async function createProject(ctx: Ctx, organizationName: string, input: CreateProject): Promise<CountedProject> {
  const organization = await requireOrganization(ctx, organizationName, 'projects:create')
  const settings = await readDefaults(ctx, organization.id, { mode: null, pool: null }, input)
  return transact(ctx, async (ctx) => {
    const now = ctx.now()
    const id = ctx.newId('prj')
    await refuseTakenProjectName(() =>
      store.insertProject(ctx.db, {
        id,
        organization_id: organization.id,
        name: input.attributes.name,
        description: input.attributes.description ?? null,
        auto_destroy_activity_duration: input.attributes['auto-destroy-activity-duration'] ?? null,
        ...settings,
        created_at: now,
        updated_at: now,
      }),
    )
    const tags = input.relationships['tag-bindings']?.data.map((tag) => tag.attributes)
    if (tags) await replaceTagBindings(ctx, { organizationId: organization.id, projectId: id }, tags)
    await recordAudit(
      ctx,
      projectAudit({ id, name: input.attributes.name, organization_id: organization.id }, 'create', {
        teams: [],
        changes: { ...input.attributes, tags },
      }),
    )
    return showProject(ctx, id)
  })
}
