import type { Ctx } from '../../../app.ts'
import { invalid, unavailable } from '../../../errors.ts'
import { documentsTopic } from './artifact.ts'
import { LATE_MS } from './log.ts'
import { findOwedDocuments, type Phase } from './store.ts'

/** For this long, in ms, who asks for a document that is owed waits for it. */
const HOLD_MS = 20_000
/** A plan whose documents are owed for longer than this, in ms, has lost its agent: they may come, but nobody waits for them. */
const PROMPT_MS = 10 * 60_000
/** A missed signal delays a document by at most this long, in ms. */
const POLL_MS = 1_000
/** When to ask again for documents that have not come, in ms. */
const AGAIN_MS = 5_000

/**
 * Waits until a plan that was reported before its documents has them. Throws `unavailable` when that takes too long, and
 * `invalid` when they can't be had any more.
 */
export async function waitForDocuments(ctx: Ctx, plan: Phase, signal: AbortSignal) {
  if (plan.documents_error !== null) throw lost(plan.documents_error)
  if (plan.documents_owed_at === null) return
  using signals = ctx.signals.subscribe(documentsTopic(plan.id))
  const end = performance.now() + HOLD_MS
  for (;;) {
    const found = await findOwedDocuments(ctx.db, plan.id)
    if (found && found.documents_error !== null) throw lost(found.documents_error)
    if (!found || found.documents_owed_at === null) return
    const owedMs = ctx.now().getTime() - found.documents_owed_at.getTime()
    if (owedMs > LATE_MS) throw lost('its agent has not come back')
    const leftMs = end - performance.now()
    if (leftMs <= 0 || owedMs > PROMPT_MS || signal.aborted) {
      throw unavailable(`the JSON of the plan ${plan.id} is still owed by its agent: ask again later`, AGAIN_MS)
    }
    await signals.next({ timeoutMs: Math.min(POLL_MS, leftMs), signal })
  }
}

function lost(why: string) {
  return invalid(`the JSON of this plan can not be had: ${why}; its log says what it has planned`)
}
