import type { Ctx } from '../../../app.ts'
import { uploadGrant, uploadOf } from '../../identity/tokens/uploader.ts'

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
  const id = uploadGrant(ctx, versionId)
  return id && `${ctx.baseUrl}/_objects/modules/object/${sign(ctx, { purpose: UPLOAD, id, ttlMs: UPLOAD_TTL_MS })}`
}

/** The engines recognise the format by the parameter `archive`. */
export function downloadUrl(ctx: Signing, versionId: string) {
  const token = sign(ctx, { purpose: DOWNLOAD, id: versionId, ttlMs: DOWNLOAD_TTL_MS })
  return `${ctx.baseUrl}/_objects/modules/archive/${token}?archive=tar.gz`
}

export function readUploadUrl(ctx: Ctx, token: string) {
  return uploadOf(ctx.secrets.verifyPath(token, UPLOAD, ctx.now()))
}

export function readDownloadUrl(ctx: Ctx, token: string) {
  return ctx.secrets.verifyPath(token, DOWNLOAD, ctx.now())
}

function sign(ctx: Signing, { purpose, id, ttlMs }: { purpose: string; id: string; ttlMs: number }) {
  return ctx.secrets.signPath({ purpose, id, expiresAt: new Date(ctx.now().getTime() + ttlMs) })
}
