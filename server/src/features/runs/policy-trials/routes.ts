import type { Readable } from 'node:stream'
import * as contract from '@groundstate/contract/policy-trials'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Ctx } from '../../../app.ts'
import { MAX_ARCHIVE_BYTES } from '../../../blobs/archive.ts'
import type { Routes } from '../../../http/http.ts'
import { listOf } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { requireTrial } from './access.ts'
import { policyTrialResource, policyTrialRunResource } from './resource.ts'
import * as service from './service.ts'
import type { TrialRow } from './store.ts'
import { uploadTrial } from './upload.ts'
import { uploadUrl } from './urls.ts'

const MANAGE = { organization: 'policies:manage' } as const
const ONE = documentOf(contract.policyTrialSchema)

export const policyTrialRoutes: Routes = (http) => {
  http.post(
    '/organizations/:organization/policy-trials',
    {
      summary: 'Create a trial of uploaded policies, for runs whose plan the caller may read',
      access: MANAGE,
      audit: 'policy_trial create',
      body: contract.createPolicyTrialBody,
      responses: { 201: ONE },
    },
    async (req) => created(shown(req.ctx, await service.createTrial(req.ctx, req.params.organization, req.body.data))),
  )
  http.post(
    '/policy-sets/:id/policy-trials',
    {
      summary: 'Evaluate a policy set against the runs of the last 30 days',
      access: MANAGE,
      audit: 'policy_trial create',
      responses: { 201: ONE },
    },
    async (req) => created(shown(req.ctx, await service.createSetTrial(req.ctx, req.params.id))),
  )
  http.get(
    '/policy-sets/:id/policy-trials',
    {
      summary: 'List the trials of a policy set',
      access: MANAGE,
      responses: { 200: pageOf(contract.policyTrialSchema) },
    },
    async (req) =>
      req.list(await service.listTrials(req.ctx, req.params.id, req.page()), (trial) => shown(req.ctx, trial)),
  )
  http.get(
    '/policy-trials/:id',
    { summary: 'Show a trial of policies', access: MANAGE, responses: { 200: ONE } },
    async (req) => ok(shown(req.ctx, await requireTrial(req.ctx, req.params.id))),
  )
  http.get(
    '/policy-trials/:id/runs',
    {
      summary: 'List the results of a trial by run',
      access: MANAGE,
      query: {
        'filter[status]': listOf(contract.POLICY_TRIAL_RUN_STATUS).describe('only results with these statuses'),
      },
      responses: { 200: pageOf(contract.policyTrialRunSchema) },
    },
    async (req) => {
      const list = { page: req.page(), statuses: req.query['filter[status]'] }
      return req.list(await service.listTrialRuns(req.ctx, req.params.id, list), policyTrialRunResource)
    },
  )
  http.post(
    '/policy-trials/:id/actions/cancel',
    { summary: 'Cancel a trial of policies', access: MANAGE, audit: 'policy_trial cancel', responses: { 200: ONE } },
    async (req) => ok(shown(req.ctx, await service.cancelTrial(req.ctx, req.params.id))),
  )
  http.put(
    '/_objects/policy-trials/:token',
    {
      summary: 'Upload the policies of a trial',
      access: 'signed',
      audit: 'policy_trial upload',
      prefix: '',
      upload: true,
      maxBytes: MAX_ARCHIVE_BYTES,
      responses: { 200: null },
    },
    async (req) => {
      await uploadTrial(req.ctx, req.params.token, req.raw.body as Readable)
      return { status: 200 }
    },
  )
}

function shown(ctx: Ctx, trial: TrialRow) {
  return policyTrialResource(trial, trial.status === 'pending' ? uploadUrl(ctx, trial) : undefined)
}
