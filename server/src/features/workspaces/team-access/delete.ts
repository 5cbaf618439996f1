import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { grantAudit } from './audit.ts'
import type { GrantKind } from './grant-kind.ts'
import type { Grant } from './grant.ts'
import * as store from './store.ts'

export async function deleteGrant(ctx: Ctx, kind: GrantKind, { id, subject, team_id: teamId }: Grant) {
  const event = await grantAudit(ctx, kind, { subject, teamId, action: 'remove_team', meta: { team: teamId } })
  await audited(ctx, event, (ctx) => store.deleteGrant(ctx.db, kind, id))
}
