import type { TransactionCtx } from '../../../app.ts'
import { listPoolTopics } from './claim-store.ts'

/** Lets agents look once this transaction commits: a limit of the organization may have held jobs back in any of its pools. */
export async function wakePools(ctx: TransactionCtx, organizationId: string) {
  ctx.signals.publish(ctx.db, await listPoolTopics(ctx.db, organizationId))
}
