import type { Ctx } from '../../app.ts'
import type { Tx } from '../../db/db.ts'
import { randomText } from '../../ids.ts'
import * as store from './store.ts'

/** Creates the owners team of a new organization, with its service account and its first member. */
export async function insertOwnersTeam(ctx: Ctx & { db: Tx }, organizationId: string, userId: string) {
  const team = await insertTeam(ctx, { organizationId, name: 'owners', isOwners: true })
  await store.insertMembership(ctx.db, { id: ctx.newId('ou'), organizationId, userId, now: ctx.now() })
  await store.insertTeamMember(ctx.db, { teamId: team, userId, now: ctx.now() })
}

/** A team comes with the service account as which its tokens act, and which is a member of it. Returns the team's id. */
export async function insertTeam(
  ctx: Ctx & { db: Tx },
  input: { organizationId: string; name: string; isOwners?: boolean },
) {
  const now = ctx.now()
  const userId = ctx.newId('user')
  const teamId = ctx.newId('team')
  await store.insertServiceUser(ctx.db, { id: userId, username: `api-team_${randomText(12)}`, now })
  await store.insertTeam(ctx.db, {
    id: teamId,
    organization_id: input.organizationId,
    name: input.name,
    is_owners: input.isOwners ?? false,
    service_user_id: userId,
    created_at: now,
    updated_at: now,
  })
  await store.insertTeamMember(ctx.db, { teamId, userId, now })
  return teamId
}

/** The id of the organization's owners team; there always is one. */
export async function findOwnersTeamId(ctx: Ctx, organizationId: string) {
  const team = await store.findOwnersTeam(ctx.db, organizationId)
  return team.id
}
