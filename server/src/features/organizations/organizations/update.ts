import type { UpdateOrganization } from '@groundstate/contract/organizations'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import { requireOrganization, showChangedOrganization } from './access.ts'
import { organizationAudit } from './audit.ts'
import { type Organization } from './organization.ts'
import { requireOrganizationPool } from './pool-access.ts'
import { organizationSettingColumns, refuseTakenOrganizationName } from './settings.ts'
import * as store from './store.ts'

export const POOL = '/data/relationships/default-agent-pool'

export async function updateOrganization(ctx: Ctx, name: string, input: UpdateOrganization): Promise<Organization> {
  const organization = await requireOrganization(ctx, name, 'organization:update')
  const { attributes, relationships } = input
  const mode = attributes['default-execution-mode'] ?? organization.default_execution_mode
  const related = relationships['default-agent-pool']
  const named = related && (related.data?.id ?? null)
  const pool = mode !== 'agent' ? null : named === undefined ? organization.default_agent_pool_id : named
  if (named && mode !== 'agent')
    throw invalid("Default agent pool must not be specified unless using 'agent' execution mode", POOL)
  if (mode === 'agent' && !pool)
    throw invalid("Default agent pool must be specified when using 'agent' execution mode", POOL)
  if (named) await requireOrganizationPool(ctx, organization.id, named, POOL)
  return refuseTakenOrganizationName(() =>
    transact(ctx, async (ctx) => {
      await store.updateOrganization(ctx.db, organization.id, {
        ...organizationSettingColumns(attributes),
        name: attributes.name,
        email: attributes.email,
        default_agent_pool_id: pool,
        updated_at: ctx.now(),
      })
      await recordAudit(ctx, organizationAudit(organization, 'update', attributes))
      return showChangedOrganization(ctx, organization.id, organization.access)
    }),
  )
}
