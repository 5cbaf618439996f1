import type { Readable } from 'node:stream'
import * as protocol from '@groundstate/contract/agent'
import type { FastifyRequest } from 'fastify'
import { notFound } from '../../../errors.ts'
import { reaction } from '../../../handlers.ts'
import { bearerToken } from '../../../http/authenticate.ts'
import { wholeBody } from '../../../http/bodies.ts'
import { clientSignal } from '../../../http/closing.ts'
import type { Routes } from '../../../http/http.ts'
import { count } from '../../../http/query.ts'
import { binary, bytes, json, noContent, unstored } from '../../../http/responses.ts'
import { poolLimitChanged } from '../../agents/agent-pools/service.ts'
import { requireClaimingAgent } from '../../agents/agents/access.ts'
import { agentRemoved } from '../../agents/agents/announce.ts'
import { waitUnlessRevoked } from '../../agents/agents/service.ts'
import { organizationDeleting } from '../../organizations/organizations/access.ts'
import { openJobConfiguration } from '../configuration-versions/service.ts'
import { poolTopic } from '../runs/queued-job-store.ts'
import { requireAnyJob, requireJob, requireJobForUpload } from './access.ts'
import { endClaims, waitForJob } from './claim.ts'
import { finishJob } from './finish.ts'
import { appendLog } from './log.ts'
import * as results from './results.ts'
import { abandonJobs, receiveHeartbeat, releaseJob, requeueJob } from './service.ts'

/** The job's own token is checked by the query that loads the job. */
const BY_JOB = { access: 'job', prefix: protocol.AGENT_API } as const
const REPORTED = { none: 'results of agents are in the events of the run' }
const OF_RESULT = { ...BY_JOB, audit: REPORTED, upload: true } as const

const MAX_LOG_BYTES = 16 * 1024 * 1024
/** Larger bodies, in bytes, are not read into memory before their sender is authenticated. */
const MAX_UNAUTHENTICATED_BYTES = 64 * 1024

export const agentJobRoutes: Routes = (http) => {
  http.post(
    '/agents/:agentId/claim',
    {
      prefix: protocol.AGENT_API,
      summary: 'Claim a job',
      access: 'agent',
      audit: REPORTED,
      polled: true,
      responses: { 200: protocol.agentJob, 204: null },
      body: protocol.claimBody,
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
      responses: { 200: protocol.heartbeatResponse },
      body: protocol.heartbeatBody,
    },
    async (req) => {
      const token = bearerToken(req.raw)
      const signal = clientSignal(req.raw, req.reply)
      const command = await receiveHeartbeat(req.ctx, req.params.jobId, { token, ...req.body, signal })
      return json({ command } satisfies protocol.HeartbeatResponse)
    },
  )
  http.get(
    '/jobs/:jobId/configuration',
    { ...BY_JOB, summary: 'Download the configuration of a job', responses: { 200: binary('application/gzip') } },
    async (req) => {
      const job = await requireJob(req.ctx, ...credentials(req))
      const { content, size } = await openJobConfiguration(req.ctx, job.configuration_version_id)
      return bytes(content, 'application/gzip', size ?? undefined)
    },
  )
  http.post(
    '/jobs/:jobId/finish',
    {
      ...BY_JOB,
      summary: 'Report the result of a job',
      audit: REPORTED,
      responses: { 204: null },
      body: protocol.finishBody,
    },
    async (req) => {
      const job = await requireAnyJob(req.ctx, ...credentials(req))
      await finishJob(req.ctx, job, req.body)
    },
  )
  http.post(
    '/jobs/:jobId/release',
    { ...BY_JOB, summary: 'Return a job to the queue', audit: REPORTED, responses: { 204: null } },
    async (req) => releaseJob(req.ctx, await requireAnyJob(req.ctx, ...credentials(req))),
  )

  http.put(
    '/jobs/:jobId/log',
    {
      ...OF_RESULT,
      summary: 'Append to the log of a job',
      responses: { 200: protocol.logResponse },
      query: {
        offset: count()
          .nonoptional('must be a number of bytes')
          .describe('bytes that the job has written before these'),
      },
      maxBytes: MAX_LOG_BYTES,
    },
    async (req) => {
      const [jobId, token] = credentials(req)
      // The statement that stores a small body authenticates its sender.
      const isSmall = Number(req.header('content-length')) <= MAX_UNAUTHENTICATED_BYTES
      if (!isSmall) await requireJobForUpload(req.ctx, jobId, { token })
      const { offset } = req.query
      const size = await appendLog(req.ctx, jobId, { token, offset, bytes: await readBody(req.raw) })
      return json({ size } satisfies protocol.LogResponse)
    },
  )
  http.put(
    '/jobs/:jobId/artifacts/:kind',
    {
      ...OF_RESULT,
      summary: 'Upload a file of a job',
      responses: { 204: null },
      maxBytes: protocol.MAX_ARTIFACT_BYTES,
    },
    async (req) => {
      const kind = parseKind(req.params.kind)
      const job = await requireJobForUpload(req.ctx, req.params.jobId, { token: bearerToken(req.raw), kind })
      await results.putArtifact(req.ctx, job, { kind, content: req.raw.body as Readable })
    },
  )
  http.get(
    '/jobs/:jobId/artifacts/:kind',
    { ...BY_JOB, summary: 'Download a file of a job', responses: { 200: binary('application/octet-stream') } },
    async (req) => {
      const job = await requireJob(req.ctx, ...credentials(req))
      return bytes(await results.openArtifact(req.ctx, job, parseKind(req.params.kind)))
    },
  )
  http.post(
    '/jobs/:jobId/result',
    {
      ...OF_RESULT,
      summary: 'Report the result of a job with its log and files',
      responses: { 200: protocol.agentJob, 204: null },
      maxBytes: protocol.MAX_ENVELOPE_BYTES,
    },
    async (req) => {
      const client = clientSignal(req.raw, req.reply)
      const job = await requireAnyJob(req.ctx, ...credentials(req))
      const envelope = results.readEnvelope(await readBody(req.raw), protocol.resultHeader)
      const next = await results.receiveResult(req.ctx, job, envelope)
      if (next === undefined) return noContent()
      if (!client.aborted) return unstored(json(next))
      // The agent has disconnected: do not wait until the acknowledgement is overdue.
      await requeueJob(req.ctx, next)
      return noContent()
    },
  )
  http.post(
    '/jobs/:jobId/documents',
    {
      ...OF_RESULT,
      summary: 'Send the pending documents of a plan',
      responses: { 204: null },
      maxBytes: protocol.MAX_ENVELOPE_BYTES,
    },
    async (req) => {
      const job = await requireAnyJob(req.ctx, ...credentials(req))
      await results.receiveDocuments(
        req.ctx,
        job,
        results.readEnvelope(await readBody(req.raw), protocol.documentsHeader),
      )
    },
  )
}

function credentials({ params, raw }: { params: { jobId: string }; raw: FastifyRequest }) {
  return [params.jobId, bearerToken(raw)] as const
}

function parseKind(text: string) {
  const kind = protocol.artifactKind.safeParse(text)
  if (!kind.success) throw notFound(`artifact ${text}`)
  return kind.data
}

async function readBody(raw: FastifyRequest): Promise<Buffer> {
  return raw.body === undefined ? Buffer.alloc(0) : wholeBody(raw, raw.body as Readable)
}

export const agentJobReactions = [
  reaction(organizationDeleting, abandonJobs),
  reaction(agentRemoved, async (ctx, { agentId }) => endClaims(ctx, agentId)),
  // The limit may have blocked jobs.
  reaction(poolLimitChanged, async (ctx, { poolId }) => ctx.signals.publish(ctx.db, poolTopic(poolId))),
]
