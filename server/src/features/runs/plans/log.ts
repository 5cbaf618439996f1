import type { Ctx } from '../../../app.ts'

/** The most that one read returns. */
export const MAX_READ_BYTES = 1024 * 1024

/** A log in blobs is cut at every multiple of this, so that a read opens two blobs at most. */
export const SEGMENT_BYTES = 1024 * 1024

const LOG_URL_HOURS = 25

/** The absolute URL of a log. Clients replace its query, so what grants access is in the path. */
export function logUrl(ctx: Pick<Ctx, 'secrets' | 'baseUrl' | 'now'>, phaseId: string) {
  const expiresAt = new Date(ctx.now().getTime() + LOG_URL_HOURS * 3_600_000)
  return `${ctx.baseUrl}/_objects/logs/${ctx.secrets.signPath({ purpose: 'log', id: phaseId, expiresAt })}`
}

export const LOG_PREFIX = 'logs/'

export function segmentKey(phaseId: string, index: number) {
  return `${LOG_PREFIX}${phaseId}/${index}`
}
