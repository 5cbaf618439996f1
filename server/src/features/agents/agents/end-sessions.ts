import type { TransactionCtx } from '../../../app.ts'
import { announceAgents } from './announce.ts'
import * as store from './store.ts'
import { tokenTopic } from './wait-for-revocation.ts'

/**
 * Ends what agents do with a token that this transaction deletes: they are exited, and their claims that wait are answered at
 * once. Jobs under way have tokens of their own, and come to their end.
 */
export async function endAgentSessions(ctx: TransactionCtx, tokenIds: readonly string[]) {
  await announceAgents(ctx, await store.markTokensExited(ctx.db, tokenIds, ctx.now()))
  for (const id of tokenIds) ctx.signals.publish(ctx.db, tokenTopic(id))
}
