import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { grantAudit } from './audit.ts'
import { grantColumns, type GrantInput } from './grant-columns.ts'
import type { GrantKind } from './grant-kind.ts'
import type { Grant } from './grant.ts'
import * as store from './store.ts'

export async function updateGrant(
  ctx: Ctx,
  kind: GrantKind,
  { grant, input }: { grant: Grant; input: GrantInput },
): Promise<Grant> {
  const { subject } = grant
  const access = input.access ?? grant.access
  const columns = grantColumns(kind, { ...input, access }, grant)
  return transact(ctx, async (ctx) => {
    const row = await store.updateGrant(ctx.db, kind, { id: grant.id, changes: { ...columns, access } })
    if (!row) throw notFound('team access')
    const change = { subject, teamId: row.team_id, meta: { team: row.team_id, permissions: access } }
    await recordAudit(ctx, await grantAudit(ctx, kind, { ...change, action: 'update_team_permissions' }))
    return { ...row, subject }
  })
}
