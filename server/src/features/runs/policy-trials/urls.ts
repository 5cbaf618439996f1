import type { Ctx } from '../../../app.ts'
import { uploadGrant, uploadOf } from '../../identity/tokens/uploader.ts'

const PURPOSE = 'policy-trial-upload'
/** Lifetime of an upload URL from the creation of the trial, in ms. */
const UPLOAD_URL_TTL_MS = 3_600_000
/** Maximum duration of one upload, in ms: the server aborts longer requests. */
const UPLOAD_TIMEOUT_MS = 3_600_000

/** Archives are stored as `policy-trials/<trial>/<attempt>`. */
export const TRIAL_PREFIX = 'policy-trials/'

/** Undefined for callers who have no upload URLs. */
export function uploadUrl(ctx: Pick<Ctx, 'actor' | 'secrets' | 'baseUrl'>, trial: { id: string; created_at: Date }) {
  const id = uploadGrant(ctx, trial.id)
  const expiresAt = new Date(trial.created_at.getTime() + UPLOAD_URL_TTL_MS)
  const sign = (id: string) => ctx.secrets.signPath({ purpose: PURPOSE, id, expiresAt })
  return id && `${ctx.baseUrl}/_objects/policy-trials/${sign(id)}`
}

export function readUploadUrl(ctx: Pick<Ctx, 'secrets' | 'now'>, token: string) {
  return uploadOf(ctx.secrets.verifyPath(token, PURPOSE, ctx.now()))
}

/** Pending trials created before this time can no longer get an archive. */
export function abandonedBefore(now: Date) {
  return new Date(now.getTime() - UPLOAD_URL_TTL_MS - UPLOAD_TIMEOUT_MS)
}
