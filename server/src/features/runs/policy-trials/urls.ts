import type { Ctx } from '../../../app.ts'
import { openUpload, signUpload } from '../../identity/tokens/uploader.ts'

const PURPOSE = 'policy-trial-upload'
/** Lifetime of an upload URL from the creation of the trial, in ms. */
const UPLOAD_URL_TTL_MS = 3_600_000
/** Maximum duration of one upload, in ms: the server aborts longer requests. */
const UPLOAD_TIMEOUT_MS = 3_600_000

/** Archives are stored as `policy-trials/<trial>/<attempt>`. */
export const TRIAL_PREFIX = 'policy-trials/'

/** Undefined for callers who have no upload URLs. */
export function uploadUrl(ctx: Pick<Ctx, 'actor' | 'secrets' | 'baseUrl'>, trial: { id: string; created_at: Date }) {
  const expiresAt = new Date(trial.created_at.getTime() + UPLOAD_URL_TTL_MS)
  const token = signUpload(ctx, { purpose: PURPOSE, id: trial.id, expiresAt })
  return token && `${ctx.baseUrl}/_objects/policy-trials/${token}`
}

/** Throws as `openUpload` does. */
export function openUploadUrl(ctx: Pick<Ctx, 'secrets' | 'now'>, token: string) {
  return openUpload(ctx, token, { purpose: PURPOSE, advice: 'create a new trial, and upload within an hour' })
}

/** Pending trials created before this time can no longer get an archive. */
export function abandonedBefore(now: Date) {
  return new Date(now.getTime() - UPLOAD_URL_TTL_MS - UPLOAD_TIMEOUT_MS)
}
