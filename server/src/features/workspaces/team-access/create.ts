import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { isUniqueViolation } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { requireTeam } from '../../organizations/teams/access.ts'
import { requireGrantSubject } from './access.ts'
import { grantAudit } from './audit.ts'
import { grantColumns, type GrantInput } from './grant-columns.ts'
import type { GrantKind } from './grant-kind.ts'
import type { Grant } from './grant.ts'
import * as store from './store.ts'

type NewGrant = {
  attributes: GrantInput & { access: string }
  relationships: Readonly<Record<string, { data: { id: string } } | undefined>>
}

export async function createGrant(ctx: Ctx, kind: GrantKind, { attributes, relationships }: NewGrant): Promise<Grant> {
  const idOf = (name: string) => relationships[name]?.data.id ?? ''
  const subject = await requireGrantSubject(ctx, kind, { id: idOf(kind.noun), permission: 'team-access:manage' })
  const team = await requireTeam(ctx, idOf('team'), 'team:read')
  if (team.organization_id !== subject.organizationId) throw notFound('team')
  const columns = grantColumns(kind, attributes)
  const { access } = attributes
  const meta = { team: team.name, permissions: access }
  try {
    const event = await grantAudit(ctx, kind, { subject, teamId: team.id, action: 'add_team', meta })
    const row = await audited(ctx, event, (ctx) =>
      store.insertGrant(ctx.db, kind, {
        id: ctx.newId(kind.idPrefix),
        team_id: team.id,
        subject_id: subject.id,
        access,
        created_at: ctx.now(),
        ...columns,
      }),
    )
    return { ...row, subject }
  } catch (error) {
    if (isUniqueViolation(error))
      throw invalid(`Team has already been added to the ${kind.noun}`, '/data/relationships/team')
    throw error
  }
}
