import {
  AGENT_API,
  type HeartbeatResponse,
  agentJob,
  claimBody,
  finishBody,
  heartbeatBody,
  heartbeatResponse,
} from '@groundstate/contract/agent'
import { bearerToken } from '../../../http/authenticate.ts'
import { clientSignal } from '../../../http/closing.ts'
import type { Routes } from '../../../http/http.ts'
import { binary, bytes, json, noContent, unstored } from '../../../http/responses.ts'
import { requireClaimingAgent } from '../../agents/agents/access.ts'
import { waitUnlessRevoked } from '../../agents/agents/service.ts'
import { openJobConfiguration } from '../configuration-versions/service.ts'
import { requireAnyJob, requireJob } from './access.ts'
import { waitForJob } from './claim.ts'
import { finishJob } from './finish.ts'
import { receiveHeartbeat, releaseJob } from './service.ts'

/** A job's own token finds the job, in the query that loads it. */
const BY_JOB = { access: 'job', prefix: AGENT_API } as const
const REPORTED = { none: 'what agents report is in the events of the run' }

/** The server's half of the agent protocol, without the content that a job sends and fetches. */
export const agentJobRoutes: Routes = (http) => {
  http.post(
    '/agents/:agentId/claim',
    {
      prefix: AGENT_API,
      summary: 'Claim a job',
      access: 'agent',
      audit: REPORTED,
      polled: true,
      responses: { 200: agentJob, 204: null },
      body: claimBody,
      authorise: async (ctx, { agentId }) => requireClaimingAgent(ctx, agentId),
    },
    async (req) => {
      const client = clientSignal(req.raw, req.reply)
      const { waitMs, ...request } = req.body
      const job = await waitUnlessRevoked(req.ctx, { waitMs, client }, async (signal) =>
        waitForJob(req.ctx, { agent: req.subject, ...request }, { waitMs, signal }),
      )
      return job ? unstored(json(job)) : noContent()
    },
  )
  http.post(
    '/jobs/:jobId/heartbeat',
    {
      ...BY_JOB,
      summary: 'Renew the lease of a job and wait for a command',
      audit: REPORTED,
      polled: true,
      responses: { 200: heartbeatResponse },
      body: heartbeatBody,
    },
    async (req) => {
      const token = bearerToken(req.raw)
      const signal = clientSignal(req.raw, req.reply)
      const command = await receiveHeartbeat(req.ctx, req.params.jobId, { token, ...req.body, signal })
      return json({ command } satisfies HeartbeatResponse)
    },
  )
  http.get(
    '/jobs/:jobId/configuration',
    { ...BY_JOB, summary: 'Download the configuration of a job', responses: { 200: binary('application/gzip') } },
    async (req) => {
      const job = await requireJob(req.ctx, req.params.jobId, bearerToken(req.raw))
      const { content, size } = await openJobConfiguration(req.ctx, job.configuration_version_id)
      return bytes(content, 'application/gzip', size ?? undefined)
    },
  )
  http.post(
    '/jobs/:jobId/finish',
    { ...BY_JOB, summary: 'Report the result of a job', audit: REPORTED, responses: { 204: null }, body: finishBody },
    async (req) => {
      const job = await requireAnyJob(req.ctx, req.params.jobId, bearerToken(req.raw))
      await finishJob(req.ctx, job, req.body)
    },
  )
  http.post(
    '/jobs/:jobId/release',
    { ...BY_JOB, summary: 'Hand a job back to the queue', audit: REPORTED, responses: { 204: null } },
    async (req) => {
      const job = await requireAnyJob(req.ctx, req.params.jobId, bearerToken(req.raw))
      await releaseJob(req.ctx, job)
    },
  )
}
