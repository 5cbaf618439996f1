import type { Readable } from 'node:stream'
import type { ArtifactKind } from '@groundstate/contract/agent'
import { hasPhaseEnded } from '@groundstate/contract/run-status'
import type { Ctx } from '../../../app.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { invalid, noLongerKept, notFound, unavailable } from '../../../errors.ts'
import { requirePhase } from './access.ts'
import { LATE_MS, MAX_READ_BYTES, SEGMENT_BYTES, artifactKey, documentsTopic, segmentKey } from './artifact.ts'
import { type Phase, findOwedDocuments } from './store.ts'
import * as store from './store.ts'

/**
 * The full plan as JSON; undefined until the plan is over. Waits as `waitForDocuments` does. It contains sensitive values in plain text, also of variables, so
 * it requires admin access to the workspace. For others it throws `not-found`, as clients expect.
 */
export async function openPlanJson(ctx: Ctx, planId: string, signal: AbortSignal) {
  const { phase, run } = await requirePhase(ctx, planId, { kind: 'plan', forTask: true })
  if (ctx.actor.kind !== 'task' && !run.can.has('plan-json:read')) throw notFound('plan')
  await waitForDocuments(ctx, phase, signal)
  return openJson(ctx, phase, 'plan-json')
}

/** The plan for the command line to render, without sensitive values; undefined until the plan is over. Waits as `waitForDocuments` does. */
export async function openRedactedPlan(ctx: Ctx, planId: string, signal: AbortSignal) {
  const { phase } = await requirePhase(ctx, planId, { kind: 'plan' })
  await waitForDocuments(ctx, phase, signal)
  return openJson(ctx, phase, 'plan-json-redacted')
}

/** The state that the engine could not store at the end of an apply. Throws `not-found` if there is none. */
export async function openErroredState(ctx: Ctx, applyId: string): Promise<Readable> {
  const { phase, run } = await requirePhase(ctx, applyId, { kind: 'apply' })
  const content = run.can.has('state-versions:read') ? await openArtifact(ctx, phase, 'errored-state') : undefined
  if (!content) throw notFound('errored state')
  return content
}

/** Throws `not-found`, with a specific message for a document that has expired. */
async function openJson(ctx: Ctx, plan: store.Phase, kind: 'plan-json' | 'plan-json-redacted') {
  if (plan.json_deleted_at !== null) throw noLongerKept(`the JSON of ${plan.id}`, plan.json_deleted_at)
  return openArtifact(ctx, plan, kind)
}

async function openArtifact(ctx: Ctx, phase: store.Phase, kind: ArtifactKind): Promise<Readable | undefined> {
  if (phase.job_id === null || !hasPhaseEnded(phase.status)) return undefined
  return ctx.blobs.open(artifactKey(phase.run_id, phase.job_id, kind)).catch((error: unknown) => {
    if (error instanceof BlobNotFoundError) return undefined
    throw error
  })
}

/**
 * In the public API, a log starts with the byte 0x02 and, once the phase has ended, ends with 0x03; offsets count both.
 * The log of a running phase is stored in rows, which every replica can read. After the end it moves to blobs.
 */
const STX = Buffer.from([2])
const ETX = Buffer.from([3])
type LogChunk = { bytes: Buffer; isEnd: boolean }

/**
 * The bytes of a log from `offset` on, empty if there are none yet; `isEnd` says that the log ends with them. Throws `not-found`, in
 * a specific message for a log that has expired.
 */
export async function readLog(
  ctx: Ctx,
  phaseId: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<LogChunk> {
  const size = Math.min(limit, MAX_READ_BYTES)
  // Offset 0 is the byte 0x02: the content begins at 1.
  const from = Math.max(0, offset - 1)
  const to = Math.max(from, offset + size - 1)
  const log = await store.findLog(ctx.db, phaseId, { from, to })
  if (!log) throw notFound('log')
  if (log.log_deleted_at !== null) throw noLongerKept(`the log of ${phaseId}`, log.log_deleted_at)

  const over = hasPhaseEnded(log.status)
  const contentSize = log.log_size ?? log.chunks_end ?? 0
  const content = log.log_size === null ? (log.bytes ?? Buffer.alloc(0)) : await readKept(ctx, log, { from, to })
  const whole = Buffer.concat([
    ...(offset === 0 && size > 0 ? [STX] : []),
    content,
    ...(over && from + content.length >= contentSize && offset <= contentSize + 1 ? [ETX] : []),
  ])
  const bytes = whole.subarray(0, size)
  return { bytes, isEnd: over && offset + bytes.length >= contentSize + 2 }
}

/** As `readBlobs`; what has been deleted since the row was read is no longer kept. */
async function readKept(ctx: Ctx, log: Parameters<typeof readBlobs>[1], range: { from: number; to: number }) {
  try {
    return await readBlobs(ctx, log, range)
  } catch (error) {
    if (error instanceof BlobNotFoundError) throw noLongerKept(`the log of ${log.id}`, ctx.now())
    throw error
  }
}

async function readBlobs(
  ctx: Ctx,
  log: { id: string; log_size: number | null },
  { from, to }: { from: number; to: number },
) {
  const end = Math.min(to, log.log_size ?? 0)
  const parts: Buffer[] = []
  for (let at = from; at < end;) {
    const index = Math.floor(at / SEGMENT_BYTES)
    const start = index * SEGMENT_BYTES
    const segment = await ctx.blobs.read(segmentKey(log.id, index))
    const part = segment.subarray(at - start, end - start)
    parts.push(part)
    at += part.length
    if (part.length === 0) throw new Error(`the log of ${log.id} ends before its size of ${log.log_size} bytes`)
  }
  return Buffer.concat(parts)
}

/** For this long, in ms, who asks for a document that is owed waits for it. */
const HOLD_MS = 20_000
/** A plan whose documents are owed for longer than this, in ms, has lost its agent: they may come, but no one waits for them. */
const PROMPT_MS = 10 * 60_000
/** A missed signal delays a document by at most this long, in ms. */
const POLL_MS = 1_000
/** When to ask again for documents that have not come, in ms. */
const RETRY_DELAY_MS = 5_000

/**
 * Waits until a plan that was reported before its documents has them. Throws `unavailable` when that takes too long, and
 * `invalid` when they can't be had any more.
 */
async function waitForDocuments(ctx: Ctx, plan: Phase, signal: AbortSignal) {
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
      throw unavailable(`the JSON of the plan ${plan.id} is still owed by its agent: ask again later`, RETRY_DELAY_MS)
    }
    await signals.next({ timeoutMs: Math.min(POLL_MS, leftMs), signal })
  }
}

function lost(why: string) {
  return invalid(`the JSON of this plan is not available: ${why}; see its log for the planned changes`)
}
