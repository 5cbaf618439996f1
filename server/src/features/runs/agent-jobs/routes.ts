import { buffer } from 'node:stream/consumers'
import type { Readable } from 'node:stream'
import {
  AGENT_API,
  artifactKind,
  claimBody,
  finishBody,
  type HeartbeatAnswer,
  heartbeatBody,
  type LogAnswer,
} from '@groundstate/contract/agent'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { bearerToken } from '../../../auth/authenticate.ts'
import { invalidParameter, notFound } from '../../../errors.ts'
import { bytes, json, noContent } from '../../../http/answers.ts'
import { closingSignal } from '../../../http/closing.ts'
import type { Routes } from '../../../http/http.ts'
import { requireClaimingAgent } from '../../agents/agents/access.ts'
import { openJobConfiguration } from '../configuration-versions/service.ts'
import { MAX_ARTIFACT_BYTES, openArtifact, putArtifact } from './artifacts.ts'
import { finishJob, releaseJob } from './finish.ts'
import { beat } from './heartbeat.ts'
import { requireAnyJob, requireJob } from './job.ts'
import { appendLog } from './logs.ts'
import { waitForJob } from './waiting-claims.ts'

const MAX_LOG_BYTES = 16 * 1024 * 1024
/** More than this, in bytes, is not taken into memory from a sender who is not known yet. */
const MAX_UNKNOWN_BYTES = 64 * 1024

/**
 * The server's half of the agent protocol. Routes of a job find it by the job's own token, in the query that loads it, so
 * they are public to the HTTP layer.
 */
export const agentJobRoutes: Routes = (http) => {
  const prefix = AGENT_API
  const byJob = { access: 'public', prefix } as const

  http.post('/agents/:agentId/claim', { prefix, body: claimBody }, async (req) => {
    const agent = await requireClaimingAgent(req.ctx, req.params.agentId)
    const signal = waitSignal(req.raw, req.reply)
    const job = await waitForJob(req.ctx, agent, { ...req.body, signal })
    if (!job) return noContent()
    if (signal.aborted) {
      await releaseJob(req.ctx, { id: job.id, run_id: job.runId, workspace_id: job.workspaceId })
      return noContent()
    }
    return json(job)
  })

  http.post('/jobs/:jobId/heartbeat', { ...byJob, body: heartbeatBody }, async (req) => {
    const token = bearerToken(req.raw)
    const signal = waitSignal(req.raw, req.reply)
    return json({
      command: await beat(req.ctx, req.params.jobId, { token, ...req.body, signal }),
    } satisfies HeartbeatAnswer)
  })
  http.put('/jobs/:jobId/log', { ...byJob, upload: true, maxBytes: MAX_LOG_BYTES }, async (req) => {
    const token = bearerToken(req.raw)
    const offset = readOffset(req.query['offset'])
    // What is no more than any request may bring is authenticated by the statement that stores it.
    if (!(Number(req.header('content-length')) <= MAX_UNKNOWN_BYTES)) await requireJob(req.ctx, req.params.jobId, token)
    const size = await appendLog(req.ctx, req.params.jobId, { token, offset, bytes: await body(req.raw) })
    return json({ size } satisfies LogAnswer)
  })
  http.put('/jobs/:jobId/artifacts/:kind', { ...byJob, upload: true, maxBytes: MAX_ARTIFACT_BYTES }, async (req) => {
    const job = await requireJob(req.ctx, req.params.jobId, bearerToken(req.raw))
    const content = req.raw.body as Readable
    await putArtifact(req.ctx, job, { kind: readKind(req.params.kind), content })
    return noContent()
  })
  http.get('/jobs/:jobId/artifacts/:kind', byJob, async (req) => {
    const job = await requireJob(req.ctx, req.params.jobId, bearerToken(req.raw))
    return bytes(await openArtifact(req.ctx, job, readKind(req.params.kind)))
  })
  http.get('/jobs/:jobId/configuration', byJob, async (req) => {
    const job = await requireJob(req.ctx, req.params.jobId, bearerToken(req.raw))
    const { content, size } = await openJobConfiguration(req.ctx, job.configuration_version_id)
    return bytes(content, 'application/gzip', size ?? undefined)
  })

  http.post('/jobs/:jobId/finish', { ...byJob, body: finishBody }, async (req) => {
    const job = await requireAnyJob(req.ctx, req.params.jobId, bearerToken(req.raw))
    await finishJob(req.ctx, job, req.body)
    return noContent()
  })
  http.post('/jobs/:jobId/release', byJob, async (req) => {
    const job = await requireAnyJob(req.ctx, req.params.jobId, bearerToken(req.raw))
    await releaseJob(req.ctx, job)
    return noContent()
  })
}

function readKind(text: string) {
  const kind = artifactKind.safeParse(text)
  if (!kind.success) throw notFound(`artifact ${text}`)
  return kind.data
}

function readOffset(value: unknown) {
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value)
  throw invalidParameter('offset must be a number of bytes', 'offset')
}

async function body(raw: FastifyRequest): Promise<Buffer> {
  return raw.body === undefined ? Buffer.alloc(0) : buffer(raw.body as Readable)
}

/** Aborts when the client goes away before it is answered, or when the server closes. */
function waitSignal(raw: FastifyRequest, reply: FastifyReply) {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) controller.abort()
  })
  if (raw.raw.destroyed && !raw.raw.complete) controller.abort()
  return AbortSignal.any([controller.signal, closingSignal(raw)])
}
