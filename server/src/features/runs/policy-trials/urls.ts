import type { Ctx } from '../../../app.ts'

const PURPOSE = 'policy-trial-upload'
/** Lifetime of an upload URL from the creation of the trial, in ms. */
const UPLOAD_URL_TTL_MS = 3_600_000
/** Maximum duration of one upload, in ms: the server aborts longer requests. */
const UPLOAD_TIMEOUT_MS = 3_600_000

/** Archives are stored as `policy-trials/<trial>/<attempt>`. */
export const TRIAL_PREFIX = 'policy-trials/'

export function uploadUrl(ctx: Pick<Ctx, 'secrets' | 'baseUrl'>, trial: { id: string; created_at: Date }) {
  const expiresAt = new Date(trial.created_at.getTime() + UPLOAD_URL_TTL_MS)
  return `${ctx.baseUrl}/_objects/policy-trials/${ctx.secrets.signPath({ purpose: PURPOSE, id: trial.id, expiresAt })}`
}

export function readUploadUrl(ctx: Pick<Ctx, 'secrets' | 'now'>, token: string) {
  return ctx.secrets.verifyPath(token, PURPOSE, ctx.now())
}

/** Pending trials created before this time can no longer get an archive. */
export function abandonedBefore(now: Date) {
  return new Date(now.getTime() - UPLOAD_URL_TTL_MS - UPLOAD_TIMEOUT_MS)
}
