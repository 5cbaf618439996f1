import type { App, Ctx } from '../../../app.ts'
import { basePath } from '../../../http/base-path.ts'

/** Files of a version, and the archive of a platform. */
export const FILES = ['shasums', 'signature', 'package'] as const
export type FileKind = (typeof FILES)[number]

export const SMALL_FILE_PATH = '/_objects/provider-checksums'
export const PACKAGE_PATH = '/_objects/provider-packages'

/** As for other uploads. */
const UPLOAD_TTL_MS = 25 * 3_600_000
/** An init downloads immediately, but a large archive may follow many others. */
const DOWNLOAD_TTL_MS = 60 * 60_000

const PURPOSES = { read: 'provider-download', upload: 'provider-upload' } as const

function path(kind: FileKind) {
  return kind === 'package' ? PACKAGE_PATH : SMALL_FILE_PATH
}

function signed(app: Pick<App, 'secrets' | 'now'>, purpose: keyof typeof PURPOSES, id: string) {
  const expiresAt = new Date(app.now().getTime() + (purpose === 'read' ? DOWNLOAD_TTL_MS : UPLOAD_TTL_MS))
  return app.secrets.signPath({ purpose: PURPOSES[purpose], id, expiresAt })
}

/** Without a host: engines resolve it against the address that they used, which a proxy or an agent may have. */
export function downloadPath(app: Pick<App, 'baseUrl' | 'secrets' | 'now'>, kind: FileKind, id: string) {
  return `${basePath(app.baseUrl)}${path(kind)}/${signed(app, 'read', `${id}-${kind}`)}`
}

export function downloadUrl(app: Pick<App, 'baseUrl' | 'secrets' | 'now'>, kind: FileKind, id: string) {
  return `${app.baseUrl}${path(kind)}/${signed(app, 'read', `${id}-${kind}`)}`
}

/** Its holder acts as the caller, so the URL names them. Undefined for callers that have no upload URL. */
export function uploadUrl(ctx: Ctx, kind: FileKind, id: string) {
  const { actor } = ctx
  const who = actor.kind === 'user' ? actor.userId : actor.kind === 'organization' ? actor.tokenId : undefined
  return who === undefined
    ? undefined
    : `${ctx.baseUrl}${path(kind)}/${signed(ctx, 'upload', `${id}-${kind}-by-${who}`)}`
}

export type Grant = { id: string; kind: FileKind; by: string }

/** Undefined for a URL that is invalid or expired. */
export function openUpload(app: Pick<App, 'secrets' | 'now'>, token: string): Grant | undefined {
  const [, id, kind, by] = /^(\w+-\w+)-(\w+)-by-(.+)$/.exec(verified(app, token, 'upload')) ?? []
  return id === undefined || by === undefined ? undefined : { id, kind: kind as FileKind, by }
}

export function openDownload(app: Pick<App, 'secrets' | 'now'>, token: string) {
  const [, id, kind] = /^(\w+-\w+)-(\w+)$/.exec(verified(app, token, 'read')) ?? []
  return id === undefined ? undefined : { id, kind: kind as FileKind }
}

function verified(app: Pick<App, 'secrets' | 'now'>, token: string, purpose: keyof typeof PURPOSES) {
  const grant = app.secrets.verifyPath(token, PURPOSES[purpose], app.now())
  return 'problem' in grant ? '' : grant.id
}

/** Archives are stored as `provider-packages/<platform>/<attempt>`. */
export const PACKAGE_PREFIX = 'provider-packages/'
