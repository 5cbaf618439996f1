import type { App, Ctx } from '../../../app.ts'
import { basePath } from '../../../http/base-path.ts'
import { readUpload, signUpload } from '../../identity/tokens/uploader.ts'

/** Files of a version, and the archive of a platform. */
export const FILES = ['shasums', 'signature', 'package'] as const
export type FileKind = (typeof FILES)[number]

export const SMALL_FILE_PATH = '/_objects/provider-checksums'
export const PACKAGE_PATH = '/_objects/provider-packages'

/** As for other uploads. */
const UPLOAD_TTL_MS = 25 * 3_600_000
/** An init downloads immediately, but a large archive may follow many others. */
const DOWNLOAD_TTL_MS = 60 * 60_000

const DOWNLOAD = 'provider-download'
const UPLOAD = 'provider-upload'

function path(kind: FileKind) {
  return kind === 'package' ? PACKAGE_PATH : SMALL_FILE_PATH
}

function signedDownload(app: Pick<App, 'secrets' | 'now'>, kind: FileKind, id: string) {
  const expiresAt = new Date(app.now().getTime() + DOWNLOAD_TTL_MS)
  return `${path(kind)}/${app.secrets.signPath({ purpose: DOWNLOAD, id: `${id}-${kind}`, expiresAt })}`
}

/** Without a host: engines resolve it against the address that they used, which a proxy or an agent may have. */
export function downloadPath(app: Pick<App, 'baseUrl' | 'secrets' | 'now'>, kind: FileKind, id: string) {
  return `${basePath(app.baseUrl)}${signedDownload(app, kind, id)}`
}

export function downloadUrl(app: Pick<App, 'baseUrl' | 'secrets' | 'now'>, kind: FileKind, id: string) {
  return `${app.baseUrl}${signedDownload(app, kind, id)}`
}

/** Undefined for callers who have no upload URLs. */
export function uploadUrl(ctx: Ctx, kind: FileKind, id: string) {
  const expiresAt = new Date(ctx.now().getTime() + UPLOAD_TTL_MS)
  const token = signUpload(ctx, { purpose: UPLOAD, id: `${id}-${kind}`, expiresAt })
  return token && `${ctx.baseUrl}${path(kind)}/${token}`
}

export type Grant = { id: string; kind: FileKind; by: string }

/** Undefined for a URL that is invalid or expired. */
export function openUpload(app: Pick<App, 'secrets' | 'now'>, token: string): Grant | undefined {
  const grant = readUpload(app, token, UPLOAD)
  if ('problem' in grant) return undefined
  const file = fileOf(grant.id)
  return file && { ...file, by: grant.by }
}

export function openDownload(app: Pick<App, 'secrets' | 'now'>, token: string) {
  const grant = app.secrets.verifyPath(token, DOWNLOAD, app.now())
  return 'problem' in grant ? undefined : fileOf(grant.id)
}

function fileOf(grant: string) {
  const [, id, kind] = /^(\w+-\w+)-(\w+)$/.exec(grant) ?? []
  return id === undefined ? undefined : { id, kind: kind as FileKind }
}

/** Archives are stored as `provider-packages/<platform>/<attempt>`. */
export const PACKAGE_PREFIX = 'provider-packages/'
