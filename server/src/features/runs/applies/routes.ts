import { applySchema, erroredStateResponse } from '@groundstate/contract/plans'
import { documentOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { bytes, ok, unstored } from '../../../http/responses.ts'
import { requirePhase, requireRunPhase } from '../plans/access.ts'
import { openErroredState } from '../plans/open-artifacts.ts'
import { applyResource } from '../plans/resource.ts'
import { requireRun } from '../runs/access.ts'

const APPLY = { 200: documentOf(applySchema) }
const ERRORED_STATE = {
  summary: 'Download the state that the engine could not store',
  access: { workspace: ['runs:read', 'state-versions:read'] },
  responses: { 200: erroredStateResponse },
} as const

export const applyRoutes: Routes = (http) => {
  http.get(
    '/applies/:applyId',
    { summary: 'Show an apply', access: { workspace: 'runs:read' }, responses: APPLY },
    async (req) => {
      const { phase } = await requirePhase(req.ctx, req.params.applyId, { kind: 'apply' })
      return ok(applyResource(req.ctx, phase))
    },
  )
  http.get(
    '/runs/:runId/apply',
    { summary: 'Show the apply of a run', access: { workspace: 'runs:read' }, responses: APPLY },
    async (req) => {
      const run = await requireRun(req.ctx, req.params.runId, 'runs:read')
      return ok(applyResource(req.ctx, await requireRunPhase(req.ctx, run.apply_id)))
    },
  )
  http.get('/applies/:applyId/errored-state', ERRORED_STATE, async (req) => {
    return unstored(bytes(await openErroredState(req.ctx, req.params.applyId), 'application/json'))
  })
}
