import type { Ctx } from '../../../app.ts'
import { unauthorized } from '../../../errors.ts'

export function tokenTopic(tokenId: string) {
  return `agent-token:${tokenId}`
}

/** A claim may take so much longer than it waits, in ms. */
const CLAIM_SLACK_MS = 10_000

/**
 * Lets a claim wait until its client has gone or its token is revoked on any replica: `wait` gets the signal for both. Throws
 * `unauthorized` for a token that was revoked meanwhile.
 */
export async function waitUnlessRevoked<T>(
  ctx: Ctx,
  { waitMs, client }: { waitMs: number; client: AbortSignal },
  wait: (signal: AbortSignal) => Promise<T | undefined>,
): Promise<T | undefined> {
  const revoked = new AbortController()
  const responded = new AbortController()
  const tokenId = ctx.actor.kind === 'agent' ? ctx.actor.tokenId : ''
  void ctx.signals
    .wait(tokenTopic(tokenId), { timeoutMs: waitMs + CLAIM_SLACK_MS, signal: responded.signal })
    .then((isRevoked) => isRevoked && revoked.abort())
  const found = await wait(AbortSignal.any([client, revoked.signal])).finally(() => responded.abort())
  // What was found before that is the agent's, and comes to its end.
  if (found === undefined && revoked.signal.aborted) throw unauthorized('the token of this agent was revoked')
  return found
}
