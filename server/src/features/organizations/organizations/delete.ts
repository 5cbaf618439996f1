import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { raise } from '../../../events/reaction.ts'
import { requireOrganization } from './access.ts'
import { organizationAudit } from './audit.ts'
import { organizationDeleting } from './events.ts'
import * as store from './store.ts'

/** Deletes the organization with everything in it. */
export async function deleteOrganization(ctx: Ctx, name: string) {
  await destroyOrganization(ctx, await requireOrganization(ctx, name, 'organization:delete'))
}

/** As `deleteOrganization`, for a caller that has been authorised. */
export async function destroyOrganization(ctx: Ctx, { id, name }: { id: string; name: string }) {
  await audited(ctx, organizationAudit({ id, name }, 'destroy'), async (ctx) => {
    await raise(ctx, organizationDeleting, { organizationId: id })
    await store.deleteOrganization(ctx.db, id)
  })
}
