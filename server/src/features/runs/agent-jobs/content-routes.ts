import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import {
  AGENT_API,
  type LogResponse,
  MAX_ENVELOPE_BYTES,
  agentJob,
  artifactKind,
  documentsHeader,
  logResponse,
  resultHeader,
} from '@groundstate/contract/agent'
import type { FastifyRequest } from 'fastify'
import { notFound } from '../../../errors.ts'
import { bearerToken } from '../../../http/authenticate.ts'
import { clientSignal } from '../../../http/closing.ts'
import type { Routes } from '../../../http/http.ts'
import { count } from '../../../http/query.ts'
import { binary, bytes, json, noContent, unstored } from '../../../http/responses.ts'
import { requireAnyJob, requireJob, requireJobForFile, requireOpenJob } from './access.ts'
import { appendLog } from './log.ts'
import {
  MAX_ARTIFACT_BYTES,
  openArtifact,
  putArtifact,
  readEnvelope,
  receiveDocuments,
  receiveResult,
} from './results.ts'
import { requeueJob } from './service.ts'

const MAX_LOG_BYTES = 16 * 1024 * 1024
/** Bodies above this, in bytes, are not read into memory before their sender is authenticated. */
const MAX_UNKNOWN_BYTES = 64 * 1024

/** As for the other routes of a job, the job's own token is checked by the query that loads the job. */
const BY_JOB = { access: 'job', prefix: AGENT_API } as const
const REPORTED = { none: 'what agents report is in the events of the run' }

const ENVELOPE = { ...BY_JOB, responses: { 204: null }, upload: true, maxBytes: MAX_ENVELOPE_BYTES } as const

/** The log and the files of a job. */
export const jobContentRoutes: Routes = (http) => {
  http.put(
    '/jobs/:jobId/log',
    {
      ...BY_JOB,
      summary: 'Append to the log of a job',
      audit: REPORTED,
      responses: { 200: logResponse },
      query: {
        offset: count()
          .nonoptional('must be a number of bytes')
          .describe('bytes that the job has written before these'),
      },
      upload: true,
      maxBytes: MAX_LOG_BYTES,
    },
    async (req) => {
      const token = bearerToken(req.raw)
      const { offset } = req.query
      // The statement that stores a small body authenticates its sender.
      const isSmall = Number(req.header('content-length')) <= MAX_UNKNOWN_BYTES
      if (!isSmall) await requireOpenJob(req.ctx, req.params.jobId, token)
      const size = await appendLog(req.ctx, req.params.jobId, { token, offset, bytes: await readBody(req.raw) })
      return json({ size } satisfies LogResponse)
    },
  )
  http.put(
    '/jobs/:jobId/artifacts/:kind',
    {
      ...BY_JOB,
      summary: 'Upload a file of a job',
      audit: REPORTED,
      responses: { 204: null },
      upload: true,
      maxBytes: MAX_ARTIFACT_BYTES,
    },
    async (req) => {
      const kind = readKind(req.params.kind)
      const job = await requireJobForFile(req.ctx, req.params.jobId, { token: bearerToken(req.raw), kind })
      await putArtifact(req.ctx, job, { kind, content: req.raw.body as Readable })
    },
  )
  http.post(
    '/jobs/:jobId/result',
    {
      ...ENVELOPE,
      summary: 'Report the result of a job with its log and files',
      audit: REPORTED,
      responses: { 200: agentJob, 204: null },
    },
    async (req) => {
      const client = clientSignal(req.raw, req.reply)
      const job = await requireAnyJob(req.ctx, req.params.jobId, bearerToken(req.raw))
      const next = await receiveResult(req.ctx, job, readEnvelope(await readBody(req.raw), resultHeader))
      if (next === undefined) return noContent()
      if (!client.aborted) return unstored(json(next))
      // The agent has disconnected: do not wait until the acknowledgement is overdue.
      await requeueJob(req.ctx, next)
      return noContent()
    },
  )
  http.post(
    '/jobs/:jobId/documents',
    { ...ENVELOPE, summary: 'Send the documents that a plan has owed', audit: REPORTED },
    async (req) => {
      const job = await requireAnyJob(req.ctx, req.params.jobId, bearerToken(req.raw))
      await receiveDocuments(req.ctx, job, readEnvelope(await readBody(req.raw), documentsHeader))
    },
  )
  http.get(
    '/jobs/:jobId/artifacts/:kind',
    { ...BY_JOB, summary: 'Download a file of a job', responses: { 200: binary('application/octet-stream') } },
    async (req) => {
      const job = await requireJob(req.ctx, req.params.jobId, bearerToken(req.raw))
      return bytes(await openArtifact(req.ctx, job, readKind(req.params.kind)))
    },
  )
}

function readKind(text: string) {
  const kind = artifactKind.safeParse(text)
  if (!kind.success) throw notFound(`artifact ${text}`)
  return kind.data
}

async function readBody(raw: FastifyRequest): Promise<Buffer> {
  return raw.body === undefined ? Buffer.alloc(0) : buffer(raw.body as Readable)
}
