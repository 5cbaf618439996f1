import type { Readable } from 'node:stream'
import { AGENT_API } from '@groundstate/contract/agent'
import {
  MAX_POLICY_REPORT_BYTES,
  claimPolicyBody,
  policyRequest,
  reportPolicyBody,
} from '@groundstate/contract/policy-requests'
import { bearerToken } from '../../../http/authenticate.ts'
import { parsedJson, wholeBody } from '../../../http/bodies.ts'
import { clientSignal } from '../../../http/closing.ts'
import type { Routes } from '../../../http/http.ts'
import { binary, bytes, json, noContent, unstored } from '../../../http/responses.ts'
import { parseBody } from '../../../http/validation.ts'
import { requireClaimingAgent } from '../../agents/agents/access.ts'
import { waitUnlessRevoked } from '../../agents/agents/service.ts'
import * as service from './service.ts'

const REPORTED = { none: 'results of policies are in the task stages of the run' }
/** The request is found by its own token. */
const BY_REQUEST = { prefix: AGENT_API, access: 'task-request' } as const
const GZIP = 'application/gzip'
const JSON_TYPE = 'application/json; charset=utf-8'

/** The evaluation of policies in the agent protocol. */
export const policyRequestRoutes: Routes = (http) => {
  http.post(
    '/agents/:agentId/claim-policies',
    {
      prefix: AGENT_API,
      summary: 'Claim policies to evaluate',
      access: 'agent',
      audit: REPORTED,
      polled: true,
      responses: { 200: policyRequest, 204: null },
      body: claimPolicyBody,
      authorise: async (ctx, { agentId }) => requireClaimingAgent(ctx, agentId),
    },
    async (req) => {
      const client = clientSignal(req.raw, req.reply)
      const { waitMs } = req.body
      const request = await waitUnlessRevoked(req.ctx, { waitMs, client }, async (signal) =>
        service.waitForPolicyRequest(req.ctx, { agent: req.subject }, { waitMs, signal }),
      )
      return request ? unstored(json(request)) : noContent()
    },
  )
  http.get(
    '/policy-requests/:requestId/input',
    { ...BY_REQUEST, summary: 'Download the input of policies', responses: { 200: binary(JSON_TYPE) } },
    async (req) =>
      bytes(await service.openInput(req.ctx, req.params.requestId, { token: bearerToken(req.raw) }), JSON_TYPE),
  )
  http.get(
    '/policy-requests/:requestId/sets/:setId/archive',
    { ...BY_REQUEST, summary: 'Download the archive of a policy set', responses: { 200: binary(GZIP) } },
    async (req) => {
      const { requestId, setId } = req.params
      return bytes(await service.openSetArchive(req.ctx, requestId, { setId, token: bearerToken(req.raw) }), GZIP)
    },
  )
  http.post(
    '/policy-requests/:requestId/heartbeat',
    {
      ...BY_REQUEST,
      summary: 'Renew the lease of policies',
      audit: REPORTED,
      polled: true,
      responses: { 204: null },
    },
    async (req) => service.renewPolicyRequest(req.ctx, req.params.requestId, { token: bearerToken(req.raw) }),
  )
  http.post(
    '/policy-requests/:requestId/answer',
    {
      ...BY_REQUEST,
      summary: 'Report the results of policies',
      audit: REPORTED,
      responses: { 204: null },
      upload: true,
      maxBytes: MAX_POLICY_REPORT_BYTES,
    },
    async (req) => {
      const { requestId } = req.params
      const token = bearerToken(req.raw)
      // Before a long body is read into memory.
      await service.requireTakenRequest(req.ctx, requestId, { token })
      const report = parseBody(reportPolicyBody, parsedJson(await wholeBody(req.raw, req.raw.body as Readable)))
      await service.recordReport(req.ctx, requestId, { token, report })
    },
  )
}
