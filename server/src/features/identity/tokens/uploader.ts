import type { Ctx } from '../../../app.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { findUserActor } from '../users/access.ts'
import { hasOrganizationToken } from './store.ts'

/** An upload URL of a resource: its holder uploads as the caller who got it, whom it names. */
type Upload = { id: string; by: string }
type Signed = { purpose: string; id: string; expiresAt: Date }

/** The segment of an upload URL that grants the upload. Undefined for callers who have no upload URLs. */
export function signUpload(
  { actor, secrets }: Pick<Ctx, 'actor' | 'secrets'>,
  { purpose, id, expiresAt }: Signed,
): string | undefined {
  const by = actor.kind === 'user' ? actor.userId : actor.kind === 'organization' ? actor.tokenId : undefined
  return by && secrets.signPath({ purpose, id: `${id}-by-${by}`, expiresAt })
}

/** The verified content of that segment. */
export function readUpload(
  { secrets, now }: Pick<Ctx, 'secrets' | 'now'>,
  token: string,
  purpose: string,
): Upload | { problem: 'forged' | 'expired' } {
  const grant = secrets.verifyPath(token, purpose, now())
  if ('problem' in grant) return grant
  const [, id, by] = /^(.+)-by-(.+)$/.exec(grant.id) ?? []
  return id === undefined || by === undefined ? { problem: 'forged' } : { id, by }
}

/** As `readUpload`. Throws `not-found` for an invalid URL, `forbidden` with the advice for an expired one. */
export function openUpload(
  ctx: Pick<Ctx, 'secrets' | 'now'>,
  token: string,
  { purpose, advice }: { purpose: string; advice: string },
): Upload {
  const upload = readUpload(ctx, token, purpose)
  if (!('problem' in upload)) return upload
  if (upload.problem === 'forged') throw notFound('upload')
  throw forbidden(`the upload URL has expired: ${advice}`)
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
