import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { ArtifactKind } from '@groundstate/contract/agent'
import { hasPhaseEnded } from '@groundstate/contract/run-status'
import type { Ctx } from '../../../app.ts'
import { userActor } from '../../../auth/actor.ts'
import { canReadRuns, readAccess } from '../../../auth/workspace-access.ts'
import { invalid, noLongerKept, notFound, unavailable } from '../../../errors.ts'
import { LARGE_BYTES, withWhole } from '../../states/state-versions/content.ts'
import { readSensitiveValues } from '../../workspaces/variable-sets/sensitive-values.ts'
import { requirePhase } from './access.ts'
import * as artifacts from './artifact.ts'
import * as store from './store.ts'

/** The full plan; undefined until it has ended. Its sensitive values require admin access; for others it throws `not-found`, as clients expect. */
export async function openPlanJson(ctx: Ctx, planId: string, signal: AbortSignal) {
  const { phase, run } = await requirePhase(ctx, planId, { kind: 'plan', forTask: true })
  if (ctx.actor.kind !== 'task' && !run.can.has('plan-json:read')) throw notFound('plan')
  await waitForDocuments(ctx, phase, signal)
  return openJson(ctx, phase, 'plan-json')
}

/**
 * The plan for the CLI to render, without values that the engine or the workspace marks sensitive; undefined until the plan has ended. Waits
 * as `waitForDocuments` does.
 */
export async function openRedactedPlan(ctx: Ctx, planId: string, signal: AbortSignal) {
  const { phase, run } = await requirePhase(ctx, planId, { kind: 'plan' })
  await waitForDocuments(ctx, phase, signal)
  const [content, valuesOf] = await Promise.all([
    openJson(ctx, phase, 'plan-json-redacted'),
    readSensitiveValues(ctx, [run.workspace_id]),
  ])
  const values = valuesOf(run.workspace_id)
  if (!content || !values) return content
  const { start, size } = await readStart(content)
  return withWhole(size, async () => {
    const rest = size > LARGE_BYTES ? [await buffer(content)] : []
    const outcome = await ctx.workers.maskPlan(Buffer.concat([...start, ...rest]), values)
    if (!outcome.ok) throw invalid(outcome.reason)
    return Buffer.from(outcome.value)
  })
}

/** Reads until the end, or until it is certain that the content is large. */
async function readStart(content: Readable) {
  const start: Buffer[] = []
  let size = 0
  for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    start.push(chunk)
    size += chunk.length
    if (size > LARGE_BYTES) break
  }
  return { start, size }
}

/** An apply, and whether `openErroredState` has a state for the actor. */
export async function readApply(ctx: Ctx, applyId: string) {
  const apply = await requirePhase(ctx, applyId, { kind: 'apply' })
  // Clients poll applies: the blob store is asked only about one that ended early.
  const mayHave = apply.phase.status === 'errored' || apply.phase.status === 'canceled'
  const content = mayHave ? await findErroredState(ctx, apply) : undefined
  content?.destroy()
  return { phase: apply.phase, hasErroredState: content !== undefined }
}

/** The state that the engine could not store at the end of an apply. Throws `not-found` if there is none. */
export async function openErroredState(ctx: Ctx, applyId: string): Promise<Readable> {
  const content = await findErroredState(ctx, await requirePhase(ctx, applyId, { kind: 'apply' }))
  if (!content) throw notFound('errored state')
  return content
}

async function findErroredState(ctx: Ctx, { phase, run }: Awaited<ReturnType<typeof requirePhase>>) {
  return run.can.has('state-versions:read') ? openArtifact(ctx, phase, 'errored-state') : undefined
}

/** Throws `not-found` with a specific message for an expired document. */
async function openJson(ctx: Ctx, plan: store.Phase, kind: 'plan-json' | 'plan-json-redacted') {
  if (plan.json_deleted_at !== null) throw noLongerKept(`the JSON of ${plan.id}`, plan.json_deleted_at)
  return openArtifact(ctx, plan, kind)
}

async function openArtifact(ctx: Ctx, phase: store.Phase, kind: ArtifactKind): Promise<Readable | undefined> {
  if (phase.job_id === null || !hasPhaseEnded(phase.status)) return undefined
  return artifacts.ifStored(ctx.blobs.open(artifacts.artifactKey(phase.run_id, phase.job_id, kind)))
}

/**
 * In the public API, a log starts with the byte 0x02 and, once the phase has ended, ends with 0x03; offsets count both.
 * The log of a running phase is stored in rows, which every replica can read. After the end it moves to blobs.
 */
const STX = Buffer.from([2])
const ETX = Buffer.from([3])
type LogRange = { offset: number; limit: number; readerId?: string | undefined }

/** The bytes of a log from `offset`, empty if there are none yet. Throws `not-found` for an expired log and a reader without permission. */
export async function readLog(ctx: Ctx, phaseId: string, { offset, limit, readerId }: LogRange) {
  const size = Math.min(limit, artifacts.MAX_READ_BYTES)
  // Offset 0 is the byte 0x02: the content starts at 1.
  const from = Math.max(0, offset - 1)
  const to = Math.max(from, offset + size - 1)
  const log = await store.findLog(ctx.db, phaseId, { from, to, readerId })
  if (!log || (readerId !== undefined && !mayRead(log.reader))) throw notFound('log')
  if (log.log_deleted_at !== null) throw noLongerKept(`the log of ${phaseId}`, log.log_deleted_at)

  const hasEnded = hasPhaseEnded(log.status)
  const contentSize = log.log_size ?? log.chunks_end ?? 0
  const content = log.log_size === null ? (log.bytes ?? Buffer.alloc(0)) : await readBlobs(ctx, log, { from, to })
  const whole = Buffer.concat([
    ...(offset === 0 && size > 0 ? [STX] : []),
    content,
    ...(hasEnded && from + content.length >= contentSize && offset <= contentSize + 1 ? [ETX] : []),
  ])
  const bytes = whole.subarray(0, size)
  return { bytes, isEnd: hasEnded && offset + bytes.length >= contentSize + 2 }
}

/** The last `tail` bytes of a log. Throws as `readLog` does. */
export async function readLogEnd(
  ctx: Ctx,
  phaseId: string,
  { tail, readerId }: { tail: number; readerId?: string | undefined },
) {
  const log = await store.findLog(ctx.db, phaseId, { from: 0, to: 0, readerId })
  const size =
    (log?.log_size ?? log?.chunks_end ?? 0) + STX.length + (log && hasPhaseEnded(log.status) ? ETX.length : 0)
  const limit = Math.min(tail, artifacts.MAX_READ_BYTES)
  return readLog(ctx, phaseId, { offset: Math.max(0, size - limit), limit, readerId })
}

function mayRead(reader: store.LogReader | null) {
  return reader !== null && canReadRuns(readAccess(userActor(reader), reader))
}

type Range = { from: number; to: number }

async function readBlobs(ctx: Ctx, log: { id: string; log_size: number | null }, { from, to }: Range) {
  const end = Math.min(to, log.log_size ?? 0)
  const parts: Buffer[] = []
  for (let at = from; at < end;) {
    const index = Math.floor(at / artifacts.SEGMENT_BYTES)
    const start = index * artifacts.SEGMENT_BYTES
    const segment = await artifacts.ifStored(ctx.blobs.read(artifacts.segmentKey(log.id, index)))
    // Deleted since the row was read.
    if (!segment) throw noLongerKept(`the log of ${log.id}`, ctx.now())
    const part = segment.subarray(at - start, end - start)
    parts.push(part)
    at += part.length
    if (part.length === 0) throw new Error(`the log of ${log.id} ends before its size of ${log.log_size} bytes`)
  }
  return Buffer.concat(parts)
}

/** Duration of the long poll for pending documents, in ms. */
const LONG_POLL_MS = 20_000
/** Documents pending for longer than this, in ms, are not awaited: the agent is lost, although it may still send them. */
const PROMPT_MS = 10 * 60_000
/** Poll interval in case a signal is missed, in ms. */
const POLL_MS = 1_000
const RETRY_DELAY_MS = 5_000

/** Waits for pending documents of a plan. Throws `unavailable` on a timeout, and `invalid` if they cannot arrive any more. */
async function waitForDocuments(ctx: Ctx, plan: store.Phase, signal: AbortSignal) {
  if (plan.documents_error !== null) throw documentsLost(plan.documents_error)
  if (plan.documents_pending_since === null) return
  using signals = ctx.signals.subscribe(artifacts.documentsTopic(plan.id))
  const end = performance.now() + LONG_POLL_MS
  for (;;) {
    const row = await store.findPendingDocuments(ctx.db, plan.id)
    if (row && row.documents_error !== null) throw documentsLost(row.documents_error)
    if (!row || row.documents_pending_since === null) return
    const pendingMs = ctx.now().getTime() - row.documents_pending_since.getTime()
    if (pendingMs > artifacts.LATE_RESULT_WINDOW_MS) throw documentsLost('its agent did not reconnect')
    const leftMs = end - performance.now()
    if (leftMs <= 0 || pendingMs > PROMPT_MS || signal.aborted)
      throw unavailable(`the agent has not sent the JSON of the plan ${plan.id} yet: retry later`, RETRY_DELAY_MS)
    await signals.next({ timeoutMs: Math.min(POLL_MS, leftMs), signal })
  }
}

function documentsLost(why: string) {
  return invalid(`the JSON of this plan is not available: ${why}; see its log for the planned changes`)
}
