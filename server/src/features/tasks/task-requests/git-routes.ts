import type { Readable } from 'node:stream'
import { AGENT_API, MAX_ARTIFACT_BYTES } from '@groundstate/contract/agent'
import { MAX_GIT_REPORT_BYTES, claimGitBody, gitRequest, reportGitBody } from '@groundstate/contract/agent-requests'
import { bearerToken } from '../../../http/authenticate.ts'
import { parsedJson, wholeBody } from '../../../http/bodies.ts'
import { clientSignal } from '../../../http/closing.ts'
import type { Routes } from '../../../http/http.ts'
import { json, noContent, unstored } from '../../../http/responses.ts'
import { parseBody } from '../../../http/validation.ts'
import { requireClaimingAgent } from '../../agents/agents/access.ts'
import { waitUnlessRevoked } from '../../agents/agents/service.ts'
import { putArchive, recordGitReport, renewGitRequest, waitForGitRequest } from './git-service.ts'
import { requireTakenRequest } from './service.ts'

const REPORTED = { none: 'git operations only read' }
/** The request is found by its own token. */
const BY_REQUEST = {
  prefix: AGENT_API,
  access: 'task-request',
  audit: REPORTED,
  responses: { 204: null },
} as const

/** The git operations of the agent protocol. */
export const gitRequestRoutes: Routes = (http) => {
  http.post(
    '/agents/:agentId/claim-git',
    {
      prefix: AGENT_API,
      summary: 'Claim a git operation',
      access: 'agent',
      audit: REPORTED,
      polled: true,
      responses: { 200: gitRequest, 204: null },
      body: claimGitBody,
      authorise: async (ctx, { agentId }) => requireClaimingAgent(ctx, agentId),
    },
    async (req) => {
      const client = clientSignal(req.raw, req.reply)
      const { waitMs } = req.body
      const request = await waitUnlessRevoked(req.ctx, { waitMs, client }, async (signal) =>
        waitForGitRequest(req.ctx, { agent: req.subject }, { waitMs, signal }),
      )
      return request ? unstored(json(request)) : noContent()
    },
  )
  http.post(
    '/git-requests/:requestId/heartbeat',
    { ...BY_REQUEST, summary: 'Renew the lease of a git operation', polled: true },
    async (req) => renewGitRequest(req.ctx, req.params.requestId, { token: bearerToken(req.raw) }),
  )
  http.put(
    '/git-requests/:requestId/archive',
    { ...BY_REQUEST, summary: 'Upload the archive of a git operation', upload: true, maxBytes: MAX_ARTIFACT_BYTES },
    async (req) => {
      const upload = { token: bearerToken(req.raw), archive: req.raw.body as Readable }
      await putArchive(req.ctx, req.params.requestId, upload)
    },
  )
  http.post(
    '/git-requests/:requestId/answer',
    { ...BY_REQUEST, summary: 'Report the result of a git operation', upload: true, maxBytes: MAX_GIT_REPORT_BYTES },
    async (req) => {
      const { requestId } = req.params
      const token = bearerToken(req.raw)
      // Before a long body is read into memory.
      await requireTakenRequest(req.ctx, requestId, { token, kinds: ['git'] })
      const report = parseBody(reportGitBody, parsedJson(await wholeBody(req.raw, req.raw.body as Readable)))
      await recordGitReport(req.ctx, requestId, { token, report })
    },
  )
}
