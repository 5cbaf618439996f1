import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type AgentJob,
  type ArtifactKind,
  type DocumentsHeader,
  type FinishJob,
  type JobCommand,
  type ResultHeader,
  agentJob,
  documentsHeader,
  finishBody,
  heartbeatResponse,
  logResponse,
} from '@groundstate/contract/agent'
import { packEnvelope } from '@groundstate/contract/envelope'
import {
  type Call,
  type Connection,
  MIN_RETRY_DELAY_MS,
  MAX_RETRY_DELAY_MS,
  isServerResponse,
  jsonOf,
  requireStatus,
  send,
  isTransportError,
} from './connection.ts'

/** Retry time limit of an outcome that a proxy rejects, in ms. */
const FINISH_RETRY_TIMEOUT_MS = 30_000

/** The server has abandoned the job: its lease expired, or the job and its token were deleted. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
  isDeleted: boolean

  constructor(what: string, status: 401 | 409) {
    super(`the server responded to ${what} with ${status}`)
    this.isDeleted = status === 401
  }
}

type JobFile = { kind: ArtifactKind; bytes: Uint8Array }
type ResultParts = {
  log: { offset: number; bytes: Uint8Array } | undefined
  files: readonly JobFile[]
  /** The agent would continue with the apply at once. */
  takesApply: boolean
}

type Documents = Omit<DocumentsHeader, 'files'> & { files: readonly JobFile[] }

function sizesOf(files: readonly JobFile[]) {
  return files.map(({ kind, bytes }) => ({ kind, size: bytes.length }))
}

export type JobClient = ReturnType<typeof jobClient>

/** The calls of one job. Each rejects with `LeaseLost` once the server has abandoned the job. */
export function jobClient(connection: Connection, { id, token }: Pick<AgentJob, 'id' | 'token'>) {
  async function sendForJob(call: Omit<Call, 'token'>, expected: readonly number[] = [200, 204]) {
    const full = { ...call, path: `/jobs/${id}${call.path}`, token }
    const response = await send(connection, full)
    if ((response.statusCode === 409 || response.statusCode === 401) && isServerResponse(response)) {
      await response.body.dump()
      throw new LeaseLost(`${call.method} ${full.path}`, response.statusCode)
    }
    await requireStatus(full, response, expected)
    return response
  }

  /** As `sendForJob`, ignoring the response's body. */
  async function report(call: Omit<Call, 'token'>) {
    const response = await sendForJob(call)
    await response.body.dump()
  }

  /** Receives a body, from the start again if the connection breaks; undefined after a 404. */
  async function receive<T>(path: string, signal: AbortSignal, consume: (body: Readable) => Promise<T>) {
    for (let waitMs = MIN_RETRY_DELAY_MS; ; waitMs = Math.min(waitMs * 2, MAX_RETRY_DELAY_MS)) {
      const response = await sendForJob({ method: 'GET', path, signal }, [200, 404])
      if (response.statusCode === 404) {
        await response.body.dump()
        return undefined
      }
      try {
        return await consume(response.body)
      } catch (error) {
        signal.throwIfAborted()
        if (!isTransportError(error)) throw error
        connection.onRetry(`GET ${path}: ${String(error)}`)
        await delay(waitMs, undefined, { signal })
      }
    }
  }

  return {
    /** A retry returns at once, which shows that the agent is online. */
    async heartbeat(waitMs: number, seen: JobCommand, options: Pick<Call, 'responseMs' | 'openedAfter' | 'signal'>) {
      const body = JSON.stringify({ waitMs, seen })
      const again = { body: JSON.stringify({ waitMs: 0, seen }), longPollMs: 0 }
      const call = { method: 'POST', path: '/heartbeat', body, longPollMs: waitMs, again, ...options } as const
      const response = await sendForJob(call, [200])
      return heartbeatResponse.parse(await response.body.json()).command
    },
    async appendLog(offset: number, body: Uint8Array, signal: AbortSignal) {
      const response = await sendForJob({ method: 'PUT', path: `/log?offset=${offset}`, body, signal }, [200])
      return logResponse.parse(await response.body.json()).size
    },
    async putArtifact(kind: ArtifactKind, body: NonNullable<Call['body']>, signal: AbortSignal) {
      await report({ method: 'PUT', path: `/artifacts/${kind}`, body, signal })
    },
    /** Undefined if the server has no such artifact. Calls `consume` again if the connection breaks. */
    getArtifact<T>(kind: ArtifactKind, signal: AbortSignal, consume: (body: Readable) => Promise<T>) {
      return receive(`/artifacts/${kind}`, signal, consume)
    },
    /** Responses for the engine; undefined from servers of an earlier version. */
    getEngineResponses(signal: AbortSignal) {
      return receive('/engine-answers', signal, buffer)
    },
    async getConfiguration<T>(signal: AbortSignal, consume: (body: Readable) => Promise<T>): Promise<T> {
      const result = await receive('/configuration', signal, async (body) => ({ value: await consume(body) }))
      if (result === undefined) throw new Error('the server has no archive of this configuration version')
      return result.value
    },
    async finish(outcome: FinishJob, signal: AbortSignal) {
      const body = JSON.stringify(finishBody.parse(outcome))
      await report({ method: 'POST', path: '/finish', body, proxyRetryTimeoutMs: FINISH_RETRY_TIMEOUT_MS, signal })
    },
    /** `appendLog`, `putArtifact` and `finish` in one request. Returns the job of the apply that `takesApply` has brought. */
    async sendResult(outcome: FinishJob, { log, files, takesApply }: ResultParts, signal: AbortSignal) {
      const header = {
        outcome: finishBody.parse(outcome),
        takesApply,
        ...(log !== undefined && { log: { offset: log.offset, size: log.bytes.length } }),
        files: sizesOf(files),
      } satisfies ResultHeader
      const chunks = [log?.bytes ?? Buffer.alloc(0), ...files.map(({ bytes }) => bytes)]
      // Not retried if a proxy rejects it: the caller then sends the parts in separate requests.
      const response = await sendForJob({ method: 'POST', path: '/result', body: packEnvelope(header, chunks), signal })
      // The outcome is stored. A truncated job is never acknowledged, so the server requeues it.
      return agentJob.safeParse(await jsonOf(response).catch(() => undefined)).data
    },
    /** Sends the pending documents of a plan; `files` are those not sent before. */
    async sendDocuments({ files, ...rest }: Documents, signal: AbortSignal) {
      const header = documentsHeader.parse({ ...rest, files: sizesOf(files) } satisfies DocumentsHeader)
      const body = packEnvelope(
        header,
        files.map(({ bytes }) => bytes),
      )
      await report({ method: 'POST', path: '/documents', body, proxyRetryTimeoutMs: FINISH_RETRY_TIMEOUT_MS, signal })
    },
    async release(signal: AbortSignal) {
      await report({ method: 'POST', path: '/release', signal })
    },
  }
}
