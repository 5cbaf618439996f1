import { runActionBody } from '@groundstate/contract/runs'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { accepted } from '../../../http/responses.ts'
import { requireRun, requireRunToEnd, requireRunToForceCancel } from './access.ts'
import { applyRun } from './apply.ts'
import { cancelRun, forceCancelRun } from './cancel.ts'
import { discardRun } from './discard.ts'
import { forceExecuteRun } from './force-execute.ts'

type RunParams = { runId: string }

const ACTION = { body: runActionBody, responses: { 202: null } } as const
const BY_APPLIER = {
  ...ACTION,
  access: { workspace: 'runs:apply' },
  authorise: async (ctx: Ctx, { runId }: RunParams) => requireRun(ctx, runId, 'runs:apply'),
} as const
const TO_END = {
  ...ACTION,
  // The first for a run that only plans, the second for every other one.
  access: [{ workspace: 'runs:plan' }, { workspace: 'runs:apply' }],
  authorise: async (ctx: Ctx, { runId }: RunParams) => requireRunToEnd(ctx, runId),
} as const
const TO_FORCE_CANCEL = {
  ...ACTION,
  access: { workspace: ['runs:apply', 'force-unlock'] },
  authorise: async (ctx: Ctx, { runId }: RunParams) => requireRunToForceCancel(ctx, runId),
} as const

/** What people do to runs. */
export const runActionRoutes: Routes = (http) => {
  http.post(
    '/runs/:runId/actions/apply',
    { summary: 'Apply the plan of a run', audit: 'run apply', ...BY_APPLIER },
    async (req) => {
      await applyRun(req.ctx, req.subject, req.body)
      return accepted()
    },
  )
  http.post(
    '/runs/:runId/actions/discard',
    { summary: 'Discard a run', audit: 'run discard', ...TO_END },
    async (req) => {
      await discardRun(req.ctx, req.subject, req.body)
      return accepted()
    },
  )
  http.post('/runs/:runId/actions/cancel', { summary: 'Cancel a run', audit: 'run cancel', ...TO_END }, async (req) => {
    await cancelRun(req.ctx, req.subject, req.body)
    return accepted()
  })
  http.post(
    '/runs/:runId/actions/force-cancel',
    {
      summary: 'Cancel a run by force, on which a cancel had no effect',
      audit: 'run force_cancel',
      ...TO_FORCE_CANCEL,
    },
    async (req) => {
      await forceCancelRun(req.ctx, req.subject, req.body)
      return accepted()
    },
  )
  http.post(
    '/runs/:runId/actions/force-execute',
    {
      summary: 'Make a pending run the next one of its workspace',
      audit: ['run cancel', 'run discard', 'run force_execute'],
      ...BY_APPLIER,
    },
    async (req) => {
      await forceExecuteRun(req.ctx, req.subject, req.body)
      return accepted()
    },
  )
}
