import type { Ctx } from '../../../app.ts'
import * as store from './store.ts'
import { abandonedBefore } from './urls.ts'

const MESSAGE = 'the archive was not uploaded within 25 hours: create a new configuration version'

/** Makes pending versions errored whose upload URL has expired, and whose archive can't be under way any more. */
export async function endAbandonedUploads(ctx: Ctx) {
  const now = ctx.now()
  const ended = await store.failAbandoned(ctx.db, { before: abandonedBefore(now), now, message: MESSAGE })
  if (ended > 0) ctx.log.info({ ended }, 'ended configuration versions that were never uploaded')
}
