import type { Ctx } from '../../../app.ts'
import { readAccessContext } from '../../../auth/access-context.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import { sessionAge } from '../../../http/authenticate.ts'
import { type AccessSnapshot, accessSnapshot } from './readers.ts'
import * as store from './store.ts'
import type { ChangeStream, StreamActor } from './stream.ts'

/** Reads the current access of each stream's caller. A stream without a snapshot has lost the access that it was opened with. */
export async function readAccessSnapshots(
  ctx: Ctx,
  streams: readonly ChangeStream[],
): Promise<Map<ChangeStream, AccessSnapshot>> {
  const now = ctx.now()
  const actors = streams.map(({ actor }) => actor)
  const sessionIds = actors.flatMap((actor) => (actor.kind === 'user' ? (actor.sessionId ?? []) : []))
  const tokenIds = actors.flatMap(({ tokenId }) => tokenId ?? [])
  const [sessions, tokens, members] = await Promise.all([
    sessionIds.length === 0 ? [] : store.listSessions(ctx.db, [...new Set(sessionIds)], now),
    tokenIds.length === 0 ? [] : store.listValidTokens(ctx.db, [...new Set(tokenIds)], now),
    store.listAccessRows(ctx.db, membersOf(streams)),
  ])
  const sessionById = new Map(sessions.map((session) => [session.id, session]))
  const validTokens = new Set(tokens)
  const rowByMember = new Map(members.map((row) => [memberKey(row), row]))

  function actorNow(actor: StreamActor): StreamActor | undefined {
    if (actor.tokenId !== undefined) return validTokens.has(actor.tokenId) ? actor : undefined
    const session = actor.kind === 'user' ? sessionById.get(actor.sessionId ?? '') : undefined
    const age = session && sessionAge(session, now)
    return age && actor.kind === 'user' ? { ...actor, sessionAge: age } : undefined
  }

  return new Map(
    streams.flatMap((stream) => {
      const { organizationId } = stream
      const actor = actorNow(stream.actor)
      const row =
        actor?.kind === 'user' ? rowByMember.get(memberKey({ userId: actor.userId, organizationId })) : undefined
      if (!actor) return []
      const access = readAccessContext(actor, { organizationId, access: row?.access ?? null })
      if (access.signInRequirement || !organizationPermissions(access).has('organization:read')) return []
      const { teams = [], grants = '' } = row ?? {}
      return [[stream, accessSnapshot(access, { teams, grants, column: row?.access ?? null })] as const]
    }),
  )
}

/** Several streams are often of one person. */
export function membersOf(streams: readonly ChangeStream[]): store.Member[] {
  const members = streams.flatMap(({ actor, organizationId }) =>
    actor.kind === 'user' ? [{ userId: actor.userId, organizationId }] : [],
  )
  return [...new Map(members.map((member) => [memberKey(member), member])).values()]
}

export function memberKey({ userId, organizationId }: store.Member) {
  return `${userId} ${organizationId}`
}
