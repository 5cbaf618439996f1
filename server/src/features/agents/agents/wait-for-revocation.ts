import type { Ctx } from '../../../app.ts'

export function tokenTopic(tokenId: string) {
  return `agent-token:${tokenId}`
}

/** A claim may take so much longer than it waits, in ms. */
const CLAIM_SLACK_MS = 10_000

/** Waits until the token of a claim is revoked on any replica, and aborts its signal then; `end` ends the wait. */
export function waitForRevocation(ctx: Ctx, waitMs: number): { signal: AbortSignal; end: () => void } {
  const revoked = new AbortController()
  const answered = new AbortController()
  const tokenId = ctx.actor.kind === 'agent' ? ctx.actor.tokenId : ''
  void ctx.signals
    .wait(tokenTopic(tokenId), { timeoutMs: waitMs + CLAIM_SLACK_MS, signal: answered.signal })
    .then((isRevoked) => isRevoked && revoked.abort())
  return { signal: revoked.signal, end: () => answered.abort() }
}
