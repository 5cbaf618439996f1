import { AGENT_API, answerTaskRequestBody, claimTaskBody, taskRequest } from '@groundstate/contract/agent'
import { bearerToken } from '../../../auth/authenticate.ts'
import { clientSignal } from '../../../http/client-signal.ts'
import type { Routes } from '../../../http/http.ts'
import { json, noContent, unstored } from '../../../http/responses.ts'
import { requireClaimingAgent } from '../../agents/agents/access.ts'
import { waitUnlessRevoked } from '../../agents/agents/wait-for-revocation.ts'
import { noteTaskClaim } from './note-claim.ts'
import { recordResponse } from './record-answer.ts'
import { waitForTaskRequest } from './wait-for-request.ts'

const REPORTED = { none: 'what agents report is in the deliveries of the task result' }

/** The part of the agent protocol that is about run tasks. */
export const taskRequestRoutes: Routes = (http) => {
  http.post(
    '/agents/:agentId/claim-task',
    {
      prefix: AGENT_API,
      summary: 'Claim a request of a run task',
      access: 'agent',
      audit: REPORTED,
      polled: true,
      responses: { 200: taskRequest, 204: null },
      body: claimTaskBody,
      authorise: async (ctx, { agentId }) => requireClaimingAgent(ctx, agentId),
    },
    async (req) => {
      await noteTaskClaim(req.ctx, req.subject.id)
      const client = clientSignal(req.raw, req.reply)
      const { waitMs } = req.body
      const request = await waitUnlessRevoked(req.ctx, { waitMs, client }, async (signal) =>
        waitForTaskRequest(req.ctx, { agent: req.subject }, { waitMs, signal }),
      )
      return request ? unstored(json(request)) : noContent()
    },
  )
  // A request's own token finds the request.
  http.post(
    '/task-requests/:requestId/answer',
    {
      prefix: AGENT_API,
      summary: 'Report the response to a request of a run task',
      access: 'task-request',
      audit: REPORTED,
      responses: { 204: null },
      body: answerTaskRequestBody,
    },
    async (req) => {
      await recordResponse(req.ctx, req.params.requestId, { token: bearerToken(req.raw), response: req.body })
      return noContent()
    },
  )
}
