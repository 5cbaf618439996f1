import { documentOf } from '@groundstate/contract/responses'
import { type ReviewedPlanResource, reviewedPlanSchema } from '@groundstate/contract/reviewed-plans'
import { hasPhaseEnded } from '@groundstate/contract/run-status'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { type Run, requireRun } from '../../runs/runs/access.ts'
import * as store from './store.ts'

export const reviewedPlanRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/reviewed-plan',
    {
      summary: 'Compare the plan of a merged commit with the plan of its pull request',
      access: { workspace: 'runs:read' },
      responses: { 200: documentOf(reviewedPlanSchema) },
    },
    async (req) => ok(reviewedPlanResource(await readReview(req.ctx, req.params.runId))),
  )
}

/** Throws `not-found` for a run that no push has started: there is nothing to compare with. */
async function readReview(ctx: Ctx, runId: string) {
  const run = await requireRun(ctx, runId, 'runs:read')
  if (run.ingress_attributes_id === null || run.plan_only) throw notFound('reviewed plan')
  const review = await store.findReview(ctx.db, run.id)
  return { run, review, isOpen: review === undefined && (await mayBeReviewed(ctx, run)) }
}

async function mayBeReviewed(ctx: Ctx, run: Run) {
  const status = await store.findPlanStatus(ctx.db, run.id)
  return status !== undefined && (status === 'finished' || !hasPhaseEnded(status))
}

function reviewedPlanResource({ run, review, isOpen }: Awaited<ReturnType<typeof readReview>>): ReviewedPlanResource {
  const reviewedId = review?.reviewed_run_id ?? null
  return {
    id: run.id,
    type: 'reviewed-plans',
    attributes: {
      result: review?.result ?? (isOpen ? 'pending' : 'unreviewed'),
      'pull-request-number': review?.pull_request_number ?? null,
      'pull-request-url': review?.pull_request_url ?? null,
      differences: review?.differences ?? [],
      'difference-count': review?.difference_count ?? 0,
    },
    relationships: {
      run: { data: { id: run.id, type: 'runs' } },
      'reviewed-run': { data: reviewedId === null ? null : { id: reviewedId, type: 'runs' } },
    },
  }
}
