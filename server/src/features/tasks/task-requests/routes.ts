import type { Readable } from 'node:stream'
import { AGENT_API } from '@groundstate/contract/agent'
import {
  MAX_RESPONSE_BYTES,
  claimTaskBody,
  reportTaskResponseBody,
  taskRequest,
} from '@groundstate/contract/agent-requests'
import { bearerToken } from '../../../http/authenticate.ts'
import { clientSignal } from '../../../http/closing.ts'
import type { Routes } from '../../../http/http.ts'
import { json, noContent, unstored } from '../../../http/responses.ts'
import { requireClaimingAgent } from '../../agents/agents/access.ts'
import { waitUnlessRevoked } from '../../agents/agents/service.ts'
import { recordBody, recordResponse, waitForTaskRequest } from './service.ts'

const REPORTED = { none: 'reports of agents are recorded in the deliveries of the task result' }

/** The HTTP requests of the agent protocol. */
export const taskRequestRoutes: Routes = (http) => {
  http.post(
    '/agents/:agentId/claim-task',
    {
      prefix: AGENT_API,
      summary: 'Claim an HTTP request',
      access: 'agent',
      audit: REPORTED,
      polled: true,
      responses: { 200: taskRequest, 204: null },
      body: claimTaskBody,
      authorise: async (ctx, { agentId }) => requireClaimingAgent(ctx, agentId),
    },
    async (req) => {
      const client = clientSignal(req.raw, req.reply)
      const { waitMs, accepts } = req.body
      const request = await waitUnlessRevoked(req.ctx, { waitMs, client }, async (signal) =>
        waitForTaskRequest(req.ctx, { agent: req.subject, accepts }, { waitMs, signal }),
      )
      return request ? unstored(json(request)) : noContent()
    },
  )
  // The request is found by its own token.
  http.put(
    '/task-requests/:requestId/body',
    {
      prefix: AGENT_API,
      summary: 'Upload the body of a long response',
      access: 'task-request',
      audit: REPORTED,
      responses: { 204: null },
      upload: true,
      maxBytes: MAX_RESPONSE_BYTES,
    },
    async (req) => {
      const upload = { token: bearerToken(req.raw), body: req.raw.body as Readable }
      await recordBody(req.ctx, req.params.requestId, upload)
    },
  )
  http.post(
    '/task-requests/:requestId/answer',
    {
      prefix: AGENT_API,
      summary: 'Report the response to an HTTP request',
      access: 'task-request',
      audit: REPORTED,
      responses: { 204: null },
      body: reportTaskResponseBody,
    },
    async (req) => recordResponse(req.ctx, req.params.requestId, { token: bearerToken(req.raw), response: req.body }),
  )
}
