import type { Ctx } from '../../../app.ts'
import { uploadGrant, uploadOf } from '../../identity/tokens/uploader.ts'

const PURPOSE = 'policy-set-upload'
/** Lifetime of an upload URL from the creation of the version, in ms: 25 h, as for configurations. */
const UPLOAD_URL_TTL_MS = 25 * 3_600_000
/** Maximum duration of one upload, in ms: the server aborts longer requests. */
const UPLOAD_TIMEOUT_MS = 3_600_000

/** Archives are stored as `policy-sets/<version or set>/<attempt>`. */
export const POLICY_PREFIX = 'policy-sets/'

/** Undefined for callers who have no upload URLs. */
export function uploadUrl(ctx: Pick<Ctx, 'actor' | 'secrets' | 'baseUrl'>, version: { id: string; created_at: Date }) {
  const id = uploadGrant(ctx, version.id)
  const sign = (id: string) => ctx.secrets.signPath({ purpose: PURPOSE, id, expiresAt: uploadDeadline(version) })
  return id && `${ctx.baseUrl}/_objects/policy-sets/${sign(id)}`
}

export function readUploadUrl(ctx: Pick<Ctx, 'secrets' | 'now'>, token: string) {
  return uploadOf(ctx.secrets.verifyPath(token, PURPOSE, ctx.now()))
}

export function uploadDeadline({ created_at: createdAt }: { created_at: Date }) {
  return new Date(createdAt.getTime() + UPLOAD_URL_TTL_MS)
}

/** Pending versions created before this time can no longer get an archive. */
export function abandonedBefore(now: Date) {
  return new Date(now.getTime() - UPLOAD_URL_TTL_MS - UPLOAD_TIMEOUT_MS)
}
