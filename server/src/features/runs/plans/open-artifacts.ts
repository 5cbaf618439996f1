import type { Readable } from 'node:stream'
import type { ArtifactKind } from '@groundstate/contract/agent'
import { hasPhaseEnded } from '@groundstate/contract/run-status'
import type { Ctx } from '../../../app.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { noLongerKept, notFound } from '../../../errors.ts'
import { requirePhase } from './access.ts'
import { artifactKey } from './artifact.ts'
import type * as store from './store.ts'
import { waitForDocuments } from './wait-for-documents.ts'

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

/** Throws `not-found`, in words of its own, for what is no longer kept. */
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
