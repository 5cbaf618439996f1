import type { Ctx } from '../../../app.ts'

export function tokenTopic(tokenId: string) {
  return `agent-token:${tokenId}`
}

/** A claim may take so much longer than it waits, in ms. */
const CLAIM_SLACK_MS = 10_000

/** Aborts its signal when the token of a claim is revoked, on any replica, while the claim waits up to `waitMs`; until it is ended. */
export function watchToken(ctx: Ctx, waitMs: number) {
  const revoked = new AbortController()
  const answered = new AbortController()
  const tokenId = ctx.actor.kind === 'agent' ? ctx.actor.tokenId : ''
  const options = { timeoutMs: waitMs + CLAIM_SLACK_MS, signal: answered.signal }
  void ctx.signals.wait(tokenTopic(tokenId), options).then((isRevoked) => isRevoked && revoked.abort())
  return { signal: revoked.signal, end: () => answered.abort() }
}
