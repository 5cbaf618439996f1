import type { TransactionCtx } from '../../../app.ts'
import { randomText } from '../../../ids.ts'
import { insertMembership } from '../organization-memberships/insert.ts'
import { insertTeamMembers } from './members-store.ts'
import * as store from './store.ts'

/** Creates the owners team of a new organization, with its service account and its first member. */
export async function insertOwnersTeam(ctx: TransactionCtx, organizationId: string, userId: string) {
  const teamId = await insertTeam(ctx, { organizationId, name: 'owners', isOwners: true })
  await insertMembership(ctx, { organizationId, userId })
  await insertTeamMembers(ctx.db, { teamId, userIds: [userId], now: ctx.now() })
}

type NewTeam = { organizationId: string; name: string; isOwners?: boolean }

/** A team comes with the service account as which its tokens act, and which is a member of it. Returns the team's id. */
export async function insertTeam(
  ctx: TransactionCtx,
  input: NewTeam,
  columns: Partial<store.TeamRow> = {},
): Promise<string> {
  const now = ctx.now()
  const userId = ctx.newId('user')
  const teamId = ctx.newId('team')
  await store.insertServiceUser(ctx.db, { id: userId, username: `api-team_${randomText(12)}`, now })
  await store.insertTeam(ctx.db, {
    ...columns,
    id: teamId,
    organization_id: input.organizationId,
    name: input.name,
    is_owners: input.isOwners ?? false,
    service_user_id: userId,
    created_at: now,
    updated_at: now,
  })
  await insertTeamMembers(ctx.db, { teamId, userIds: [userId], now })
  return teamId
}
