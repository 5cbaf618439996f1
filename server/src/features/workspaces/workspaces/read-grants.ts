import { LRUCache } from 'lru-cache'
import type { Ctx } from '../../../app.ts'
import type { UserActor } from '../../../auth/actor.ts'
import { findGrants, type Grants } from './list-store.ts'

/**
 * To count what a hundred teams grant takes milliseconds, so the result is cached until the organization's
 * `access_revision` changes. Every change of members and grants raises it, and every request reads it anyway, so the
 * cache is never stale, apart from the estimate: that is for a minute at most.
 */
const cache = new LRUCache<string, { revision: number; grants: Grants }>({ max: 10_000, ttl: 60_000 })

/** What the teams of the actor grant in the organization, by project and by workspace. */
export async function readGrants(
  ctx: Ctx,
  actor: UserActor,
  organization: { id: string; access_revision: number },
): Promise<Grants> {
  const key = `${organization.id}/${actor.userId}`
  const known = cache.get(key)
  if (known?.revision === organization.access_revision) return known.grants
  const grants = await findGrants(ctx.db, actor, organization.id)
  cache.set(key, { revision: organization.access_revision, grants })
  return grants
}
