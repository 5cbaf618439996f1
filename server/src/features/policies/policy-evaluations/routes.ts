import * as contract from '@groundstate/contract/policies'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Ctx } from '../../../app.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import type { Page } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { oneOf } from '../../../http/query.ts'
import { ok } from '../../../http/responses.ts'
import { policyEvaluationResource, policySetOutcomeResource } from './resource.ts'
import * as store from './store.ts'

const READ = { access: { workspace: 'runs:read' } } as const

export const policyEvaluationRoutes: Routes = (http) => {
  http.get(
    '/policy-evaluations/:id',
    { summary: 'Show a policy evaluation', ...READ, responses: { 200: documentOf(contract.policyEvaluationSchema) } },
    async (req) => ok(policyEvaluationResource(await requireEvaluation(req.ctx, req.params.id))),
  )
  http.get(
    '/policy-evaluations/:id/policy-set-outcomes',
    {
      summary: 'List the outcomes of a policy evaluation',
      ...READ,
      query: {
        'filter[0][status]': oneOf(contract.POLICY_STATUS).describe('only sets with a policy of this status'),
        'filter[0][enforcement_level]': oneOf(contract.POLICY_LEVELS).describe(
          'the level of that policy; items with other indexes are alternatives',
        ),
      },
      responses: { 200: pageOf(contract.policySetOutcomeSchema) },
    },
    async (req) => {
      const [statuses, levels] = [req.query['filter[0][status]'], req.query['filter[0][enforcement_level]']]
      const filters = [...new Set([...statuses.keys(), ...levels.keys()])].map((index) => ({
        status: statuses.get(index),
        enforcementLevel: levels.get(index),
      }))
      const list = await listEvaluationOutcomes(req.ctx, req.params.id, { filters, page: req.page() })
      return req.list(list, policySetOutcomeResource)
    },
  )
  http.get(
    '/policy-set-outcomes/:id',
    {
      summary: 'Show the outcome of a policy set',
      ...READ,
      responses: { 200: documentOf(contract.policySetOutcomeSchema) },
    },
    async (req) => ok(policySetOutcomeResource(await requireOutcome(req.ctx, req.params.id))),
  )
}

/** Throws `not-found` for an evaluation of a run that the actor may not read. */
async function requireEvaluation(ctx: Ctx, id: string): Promise<store.EvaluationRow> {
  const noun = 'policy evaluation'
  const row = await store.findEvaluation(ctx.db, ctx.actor, id)
  if (!row) throw notFound(noun)
  checkAccess(readAccess(ctx.actor, row), { noun, permission: 'runs:read', workspaceName: row.workspace_name })
  return row
}

type OutcomeList = { filters: readonly store.OutcomeFilter[]; page: Page }

async function listEvaluationOutcomes(ctx: Ctx, evaluationId: string, list: OutcomeList) {
  const { id } = await requireEvaluation(ctx, evaluationId)
  return store.listOutcomes(ctx.db, id, list)
}

async function requireOutcome(ctx: Ctx, id: string): Promise<store.OutcomeRow> {
  const noun = 'policy set outcome'
  const row = await store.findOutcome(ctx.db, ctx.actor, id)
  if (!row) throw notFound(noun)
  checkAccess(readAccess(ctx.actor, row), { noun, permission: 'runs:read', workspaceName: row.workspace_name })
  return row
}

export const policyEvaluationLoaders: readonly Loader[] = [
  {
    type: 'policy-evaluations',
    load: async (ctx, ids) => {
      if (ids.length === 0) return []
      const rows = await store.findEvaluations(ctx.db, ctx.actor, ids)
      return rows.filter((row) => canReadRuns(readAccess(ctx.actor, row))).map(policyEvaluationResource)
    },
  },
]
