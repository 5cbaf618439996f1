import type { App } from '../../../app.ts'

/** What a signed URL allows: to read one content of one state version, or to upload it once. */
export type ObjectKind = 'raw' | 'json' | 'raw-upload' | 'json-upload'

const PURPOSE = 'state-object'
/** As in the public API: 25 h, in ms. */
const LIFETIME_MS = 25 * 3_600_000

export const OBJECT_PATH = '/_objects/v1/object'

/**
 * The URL under which the content of version `id` is read or uploaded without a token (INTERFACE §4.4). The signature is part of
 * the path, since the log readers of the command line replace the query.
 */
export function objectUrl(app: Pick<App, 'baseUrl' | 'secrets' | 'now'>, kind: ObjectKind, id: string) {
  const expiresAt = new Date(app.now().getTime() + LIFETIME_MS)
  return `${app.baseUrl}${OBJECT_PATH}/${app.secrets.signPath({ purpose: PURPOSE, id: `${id}-${kind}`, expiresAt })}`
}

/** What the id in a signed URL allows; undefined when its signature is wrong or it has expired. */
export function openObjectId(
  app: Pick<App, 'secrets' | 'now'>,
  objectId: string,
): { kind: ObjectKind; id: string } | undefined {
  const verified = app.secrets.verifyPath(objectId, PURPOSE, app.now())
  if ('problem' in verified) return undefined
  const [, id, kind] = /^(sv-[^-]+)-(.+)$/.exec(verified.id) ?? []
  return id === undefined ? undefined : { kind: kind as ObjectKind, id }
}
