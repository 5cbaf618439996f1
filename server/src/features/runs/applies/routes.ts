import { bytes, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { findRunPhase, openErroredState, requirePhase } from '../plans/service.ts'
import { requireRun } from '../runs/service.ts'
import { applyResource } from '../plans/resource.ts'

export const applyRoutes: Routes = (http) => {
  http.get('/applies/:applyId', async (req) => {
    const { phase } = await requirePhase(req.ctx, req.params.applyId, { kind: 'apply' })
    return ok(applyResource(req.ctx, phase))
  })
  http.get('/runs/:runId/apply', async (req) => {
    const run = await requireRun(req.ctx, req.params.runId, 'runs:read')
    return ok(applyResource(req.ctx, await findRunPhase(req.ctx, run.apply_id)))
  })
  http.get('/applies/:applyId/errored-state', async (req) => {
    return bytes(await openErroredState(req.ctx, req.params.applyId), 'application/json')
  })
}
