import { Readable } from 'node:stream'
import * as contract from '@groundstate/contract/plans'
import { documentOf } from '@groundstate/contract/responses'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { clientSignal } from '../../../http/closing.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { count } from '../../../http/query.ts'
import { binary, bytes, noContent, ok, unstored } from '../../../http/responses.ts'
import { requireRun } from '../runs/access.ts'
import { listReadablePhases, requirePhase, requireRunPhase } from './access.ts'
import { MAX_READ_BYTES, readLogToken } from './artifact.ts'
import { applyResource, planResource } from './resource.ts'
import { openErroredState, openPlanJson, openRedactedPlan, readApply, readLog, readLogEnd } from './service.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const LOG_TYPE = 'text/plain; charset=utf-8'

const RUNS_READ = { access: { workspace: 'runs:read' } } as const
const PLAN = { ...RUNS_READ, responses: { 200: documentOf(contract.planSchema) } }
const APPLY = { ...RUNS_READ, responses: { 200: documentOf(contract.applySchema) } }
const PLAN_JSON = {
  summary: 'Download a plan as JSON',
  access: [{ workspace: 'plan-json:read' }, 'task'],
  responses: { 200: contract.planJsonResponse, 204: null },
} as const
const REDACTED = {
  summary: 'Download a plan as JSON without sensitive values',
  ...RUNS_READ,
  responses: { 200: contract.redactedPlanJsonResponse, 204: null },
} as const
export const planRoutes: Routes = (http) => {
  http.get('/plans/:planId', { summary: 'Show a plan', ...PLAN }, async (req) => {
    const { phase } = await requirePhase(req.ctx, req.params.planId, { kind: 'plan' })
    return ok(planResource(req.ctx, phase))
  })
  http.get('/runs/:runId/plan', { summary: 'Show the plan of a run', ...PLAN }, async (req) =>
    ok(planResource(req.ctx, await requireRunPhase(req.ctx, req.params.runId, 'plan'))),
  )

  http.get('/plans/:planId/json-output', PLAN_JSON, async (req) =>
    unstored(jsonResponse(await openPlanJson(req.ctx, req.params.planId, clientSignal(req.raw, req.reply)))),
  )
  http.get('/runs/:runId/plan/json-output', PLAN_JSON, async (req) => {
    const run = await requireRun(req.ctx, req.params.runId, 'runs:read', { forTask: true })
    return unstored(jsonResponse(await openPlanJson(req.ctx, run.plan_id, clientSignal(req.raw, req.reply))))
  })
  http.get('/plans/:planId/json-output-redacted', REDACTED, async (req) =>
    jsonResponse(await openRedactedPlan(req.ctx, req.params.planId, clientSignal(req.raw, req.reply))),
  )
  http.get('/runs/:runId/plan/json-output-redacted', REDACTED, async (req) => {
    const run = await requireRun(req.ctx, req.params.runId, 'runs:read')
    return jsonResponse(await openRedactedPlan(req.ctx, run.plan_id, clientSignal(req.raw, req.reply)))
  })

  http.get(
    '/_objects/logs/:token',
    {
      summary: 'Download the log of a plan or apply',
      access: 'signed',
      prefix: '',
      query: {
        offset: count().describe('the first byte to send, 0 by default'),
        limit: count().describe('the most bytes to send, at most 1048576; without it, the rest of the log is sent'),
        tail: count().describe('our own: how many of the last bytes to send, at most 1048576, instead of an offset'),
      },
      responses: { 200: binary('text/plain') },
    },
    async (req) => {
      const grant = readLogToken(req.ctx, req.params.token)
      if (!grant) throw notFound('log')
      const { phaseId, readerId } = grant
      const { offset = 0, limit = MAX_READ_BYTES, tail } = req.query
      if (tail !== undefined) return bytes((await readLogEnd(req.ctx, phaseId, { tail, readerId })).bytes, LOG_TYPE)
      // Read before the response starts, so that a missing log is an error.
      const chunk = await readLog(req.ctx, phaseId, { offset, limit: Math.min(limit, MAX_READ_BYTES), readerId })
      if (req.query.limit !== undefined) return bytes(chunk.bytes, LOG_TYPE)
      const rest = restOfLog(req.ctx, phaseId, { offset, first: chunk.bytes })
      return bytes(Readable.from(rest, { objectMode: false }), LOG_TYPE)
    },
  )
}

function jsonResponse(content: Readable | Buffer | undefined) {
  return content ? bytes(content, JSON_TYPE) : noContent()
}

/** The log from `offset` to its current end, in chunks; `first` is the first of them. */
async function* restOfLog(ctx: Ctx, phaseId: string, { offset, first }: { offset: number; first: Buffer }) {
  let chunk = first
  for (let at = offset; chunk.length > 0;) {
    yield chunk
    at += chunk.length
    chunk = (await readLog(ctx, phaseId, { offset: at, limit: MAX_READ_BYTES })).bytes
  }
}

export const applyRoutes: Routes = (http) => {
  http.get('/applies/:applyId', { summary: 'Show an apply', ...APPLY }, async (req) => {
    const { phase, ...known } = await readApply(req.ctx, req.params.applyId)
    return ok(applyResource(req.ctx, phase, known))
  })
  http.get('/runs/:runId/apply', { summary: 'Show the apply of a run', ...APPLY }, async (req) =>
    ok(applyResource(req.ctx, await requireRunPhase(req.ctx, req.params.runId, 'apply'))),
  )
  http.get(
    '/applies/:applyId/errored-state',
    {
      summary: 'Download the state that the engine could not store',
      access: { workspace: ['runs:read', 'state-versions:read'] },
      responses: { 200: contract.erroredStateResponse },
    },
    async (req) => unstored(bytes(await openErroredState(req.ctx, req.params.applyId), 'application/json')),
  )
}

export const phaseLoaders: readonly Loader[] = [
  {
    type: ['plans', 'applies'],
    load: async (ctx, ids) =>
      (await listReadablePhases(ctx, ids)).map((phase) =>
        phase.kind === 'plan' ? planResource(ctx, phase) : applyResource(ctx, phase),
      ),
  },
]
