import type { Ctx } from '../../../app.ts'

const PURPOSE = 'configuration-upload'
const UPLOAD_URL_HOURS = 25

/** The absolute URL to which the archive of a version is put; whoever knows it needs no token. */
export function uploadUrl(ctx: Pick<Ctx, 'secrets' | 'baseUrl' | 'now'>, id: string) {
  const expiresAt = new Date(ctx.now().getTime() + UPLOAD_URL_HOURS * 3_600_000)
  return `${ctx.baseUrl}/_objects/configurations/${ctx.secrets.signPath({ purpose: PURPOSE, id, expiresAt })}`
}

/** The version that an upload URL is for; undefined when it is none of ours, or too old. */
export function readUploadUrl(ctx: Pick<Ctx, 'secrets' | 'now'>, token: string) {
  const grant = ctx.secrets.verifyPath(token, PURPOSE, ctx.now())
  return 'problem' in grant ? undefined : grant.id
}
