import type { Ctx } from '../../../app.ts'
import { openUpload, signUpload } from '../../identity/tokens/uploader.ts'

const UPLOAD = 'module-upload'
const DOWNLOAD = 'module-download'
/** Lifetimes in ms: 25 h, as for configurations, and 1 h. */
const UPLOAD_TTL_MS = 25 * 3_600_000
const DOWNLOAD_TTL_MS = 3_600_000

/** Archives are stored as `modules/<version>/<attempt>`. */
export const MODULE_PREFIX = 'modules/'

type Signing = Pick<Ctx, 'secrets' | 'baseUrl' | 'now'>

/** Clients expect `/object/` in the path. Undefined for callers who have no upload URLs. */
export function uploadUrl(ctx: Ctx, versionId: string) {
  const token = signUpload(ctx, { purpose: UPLOAD, id: versionId, expiresAt: after(ctx, UPLOAD_TTL_MS) })
  return token && `${ctx.baseUrl}/_objects/modules/object/${token}`
}

/** The engines recognise the format by the parameter `archive`. */
export function downloadUrl(ctx: Signing, versionId: string) {
  const grant = { purpose: DOWNLOAD, id: versionId, expiresAt: after(ctx, DOWNLOAD_TTL_MS) }
  const token = ctx.secrets.signPath(grant)
  return `${ctx.baseUrl}/_objects/modules/archive/${token}?archive=tar.gz`
}

/** Throws as `openUpload` does. */
export function openUploadUrl(ctx: Ctx, token: string) {
  return openUpload(ctx, token, { purpose: UPLOAD, advice: 'read the version to get a new one' })
}

export function readDownloadUrl(ctx: Ctx, token: string) {
  return ctx.secrets.verifyPath(token, DOWNLOAD, ctx.now())
}

function after({ now }: Pick<Ctx, 'now'>, ttlMs: number) {
  return new Date(now().getTime() + ttlMs)
}
