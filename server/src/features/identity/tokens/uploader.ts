import type { Ctx } from '../../../app.ts'
import { forbidden } from '../../../errors.ts'
import type { VerifiedPath } from '../../../secrets/secrets.ts'
import { findUserActor } from '../users/access.ts'
import { hasOrganizationToken } from './store.ts'

/**
 * The id in an upload URL of a resource: its holder uploads as the caller, whom it names. Undefined for callers who have no upload URLs.
 */
export function uploadGrant({ actor }: Pick<Ctx, 'actor'>, id: string) {
  if (actor.kind === 'user') return `${id}-by-${actor.userId}`
  return actor.kind === 'organization' ? `${id}-by-${actor.tokenId}` : undefined
}

/** The id in a verified upload URL, and that of the uploader. */
export function uploadOf(grant: VerifiedPath): { id: string; by: string } | { problem: 'forged' | 'expired' } {
  if ('problem' in grant) return grant
  const [, id, by] = /^(.+)-by-(.+)$/.exec(grant.id) ?? []
  return id === undefined || by === undefined ? { problem: 'forged' } : { id, by }
}

/** Acts as the uploader, who may have lost permissions since. Throws `forbidden` if the account or token is deleted, suspended or expired. */
export async function asUploader(
  anyone: Ctx,
  { by, organizationId }: { by: string; organizationId: string },
): Promise<Ctx> {
  const user = by.startsWith('user-') ? await findUserActor(anyone, by) : undefined
  const hasToken =
    user !== undefined || (await hasOrganizationToken(anyone.db, { id: by, organizationId, now: anyone.now() }))
  if (!hasToken) throw forbidden('the account or token of this upload URL is deleted or suspended: get a new URL')
  const actor = user ?? ({ kind: 'organization', organizationId, tokenId: by } as const)
  return { ...anyone, actor, caller: organizationId }
}
