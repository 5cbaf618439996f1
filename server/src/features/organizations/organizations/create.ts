import type { CreateOrganization } from '@groundstate/contract/organizations'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { NO_ACCESS } from '../../../auth/access-context.ts'
import { transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { insertDefaultProject } from '../projects/create.ts'
import { insertOwnersTeam } from '../teams/insert.ts'
import { showChangedOrganization } from './access.ts'
import { organizationAudit } from './audit.ts'
import type { Organization } from './organization.ts'
import { organizationSettingColumns, refuseTakenOrganizationName } from './settings.ts'
import * as store from './store.ts'
import { POOL } from './update.ts'

/** Creates an organization with its owners team, of which the caller becomes the first member, and a default project. */
export async function createOrganization(ctx: Ctx, input: CreateOrganization): Promise<Organization> {
  const { actor } = ctx
  if (actor.kind !== 'user' || actor.teamId !== undefined) throw notFound('organization')
  if (input['default-execution-mode'] === 'agent') {
    throw invalid(
      "Default agent pool must be specified when using 'agent' execution mode: create an agent pool first",
      POOL,
    )
  }
  return refuseTakenOrganizationName(() =>
    transact(ctx, async (ctx) => {
      const now = ctx.now()
      const id = ctx.newId('org')
      await store.insertOrganization(ctx.db, {
        ...organizationSettingColumns(input),
        id,
        name: input.name,
        email: input.email,
        plan: ctx.config.edition === 'hosted' ? 'free' : 'unlimited',
        created_at: now,
        updated_at: now,
      })
      const projectId = await insertDefaultProject(ctx, id)
      await store.updateOrganization(ctx.db, id, { default_project_id: projectId })
      await insertOwnersTeam(ctx, id, actor.userId)
      await recordAudit(ctx, organizationAudit({ id, name: input.name }, 'create', input))
      return showChangedOrganization(ctx, id, { ...NO_ACCESS, role: 'owner' })
    }),
  )
}
