import type { Ctx } from '../../../app.ts'

const PURPOSE = 'configuration-upload'
/** Counted from the creation of the version, in ms: 25 h, like the URLs of states. */
const LIFETIME_MS = 25 * 3_600_000
/** The longest that one upload may take, in ms: the server ends a longer request. */
const UPLOAD_MS = 3_600_000

/**
 * The signed URL to which an archive is uploaded, without a token (INTERFACE §10.1). Its holder acts for the creator of the
 * version: it is shown in the response to the creation, and nowhere else.
 */
export function uploadUrl(ctx: Pick<Ctx, 'secrets' | 'baseUrl'>, version: { id: string; created_at: Date }) {
  const grant = { purpose: PURPOSE, id: version.id, expiresAt: uploadDeadline(version) }
  return `${ctx.baseUrl}/_objects/configurations/${ctx.secrets.signPath(grant)}`
}

/** The id of the version that an upload token is for; `problem` when the token is not ours, or has expired. */
export function readUploadUrl(ctx: Pick<Ctx, 'secrets' | 'now'>, token: string) {
  return ctx.secrets.verifyPath(token, PURPOSE, ctx.now())
}

/** When the upload URL of a version expires. A URL signed again does not live longer. */
export function uploadDeadline({ created_at: createdAt }: { created_at: Date }) {
  return new Date(createdAt.getTime() + LIFETIME_MS)
}

/** A pending version that was created before this moment gets no archive any more. */
export function abandonedBefore(now: Date) {
  return new Date(now.getTime() - LIFETIME_MS - UPLOAD_MS)
}

/** Archives are stored as `configurations/<version>/<attempt>`. */
export const ARCHIVE_PREFIX = 'configurations/'

/**
 * The command line or program that sends a request, as the public API names sources. The `cloud` block names itself, and
 * `backend "remote"` only the version of its engine.
 */
export function clientSource(header: (name: string) => string | undefined) {
  if (header('x-terraform-integration') === 'cloud') return 'terraform+cloud'
  return header('terraform-version') === undefined ? 'tfe-api' : 'terraform'
}
