import type { Ctx } from '../../../app.ts'

const PURPOSE = 'configuration-upload'
const UPLOAD_URL_HOURS = 25

/** The signed URL to which clients upload an archive, without a token. */
export function uploadUrl(ctx: Pick<Ctx, 'secrets' | 'baseUrl' | 'now'>, id: string) {
  const expiresAt = new Date(ctx.now().getTime() + UPLOAD_URL_HOURS * 3_600_000)
  return `${ctx.baseUrl}/_objects/configurations/${ctx.secrets.signPath({ purpose: PURPOSE, id, expiresAt })}`
}

/** The id of the version that an upload token is for; undefined if the token is invalid or expired. */
export function readUploadUrl(ctx: Pick<Ctx, 'secrets' | 'now'>, token: string) {
  const grant = ctx.secrets.verifyPath(token, PURPOSE, ctx.now())
  return 'problem' in grant ? undefined : grant.id
}
