import type { Ctx } from '../../../app.ts'

const PURPOSE = 'configuration-upload'
/** Lifetime of an upload URL from the creation of the version, in ms: 25 h, as for URLs of states. */
const UPLOAD_URL_TTL_MS = 25 * 3_600_000
/** Maximum duration of one upload, in ms: the server aborts longer requests. */
const UPLOAD_TIMEOUT_MS = 3_600_000

/** The signed upload URL (INTERFACE §10.1). Its holder acts as the creator, so only the creation's response has it. */
export function uploadUrl(ctx: Pick<Ctx, 'secrets' | 'baseUrl'>, version: { id: string; created_at: Date }) {
  const grant = { purpose: PURPOSE, id: version.id, expiresAt: uploadDeadline(version) }
  return `${ctx.baseUrl}/_objects/configurations/${ctx.secrets.signPath(grant)}`
}

/** The version id of an upload token; `problem` if the token is invalid or expired. */
export function readUploadUrl(ctx: Pick<Ctx, 'secrets' | 'now'>, token: string) {
  return ctx.secrets.verifyPath(token, PURPOSE, ctx.now())
}

/** The expiry of a version's upload URL, whenever it was signed. */
export function uploadDeadline({ created_at: createdAt }: { created_at: Date }) {
  return new Date(createdAt.getTime() + UPLOAD_URL_TTL_MS)
}

/** Pending versions created before this time can no longer get an archive. */
export function abandonedBefore(now: Date) {
  return new Date(now.getTime() - UPLOAD_URL_TTL_MS - UPLOAD_TIMEOUT_MS)
}

/** Archives are stored as `configurations/<version>/<attempt>`. */
export const ARCHIVE_PREFIX = 'configurations/'

/**
 * Archives of commits are stored as `repository-archives/<commit>/<attempt>`. They belong to the versions of many workspaces, so only the
 * sweep deletes them, once no version names them.
 */
export const SHARED_PREFIX = 'repository-archives/'

/** The client of a request, as a source of the public API. `backend "remote"` is recognised by the version of its engine only. */
export function clientSource(header: (name: string) => string | undefined) {
  if (header('x-terraform-integration') === 'cloud') return 'terraform+cloud'
  return header('terraform-version') === undefined ? 'tfe-api' : 'terraform'
}
