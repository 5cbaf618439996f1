import type { Ctx } from '../../../app.ts'

export function tokenTopic(tokenId: string) {
  return `agent-token:${tokenId}`
}

/** Resolves to true when the token is revoked on any replica, to false after `timeoutMs` or on the abort. */
export async function waitForRevocation(
  ctx: Ctx,
  tokenId: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<boolean> {
  return ctx.signals.wait(tokenTopic(tokenId), { timeoutMs, signal })
}
