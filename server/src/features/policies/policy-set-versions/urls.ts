import type { Ctx } from '../../../app.ts'

const PURPOSE = 'policy-set-upload'
/** Lifetime of an upload URL from the creation of the version, in ms: 25 h, as for configurations. */
const UPLOAD_URL_TTL_MS = 25 * 3_600_000
/** Maximum duration of one upload, in ms: the server aborts longer requests. */
const UPLOAD_TIMEOUT_MS = 3_600_000

/** Archives are stored as `policy-sets/<version or set>/<attempt>`. */
export const POLICY_PREFIX = 'policy-sets/'

export function uploadUrl(ctx: Pick<Ctx, 'secrets' | 'baseUrl'>, version: { id: string; created_at: Date }) {
  const grant = { purpose: PURPOSE, id: version.id, expiresAt: uploadDeadline(version) }
  return `${ctx.baseUrl}/_objects/policy-sets/${ctx.secrets.signPath(grant)}`
}

export function readUploadUrl(ctx: Pick<Ctx, 'secrets' | 'now'>, token: string) {
  return ctx.secrets.verifyPath(token, PURPOSE, ctx.now())
}

export function uploadDeadline({ created_at: createdAt }: { created_at: Date }) {
  return new Date(createdAt.getTime() + UPLOAD_URL_TTL_MS)
}

/** Pending versions created before this time can no longer get an archive. */
export function abandonedBefore(now: Date) {
  return new Date(now.getTime() - UPLOAD_URL_TTL_MS - UPLOAD_TIMEOUT_MS)
}
