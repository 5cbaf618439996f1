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
  heartbeatResponse,
  logResponse,
} from '@groundstate/contract/agent'
import { packEnvelope } from '@groundstate/contract/envelope'
import type { Dispatcher } from 'undici'
import {
  type Call,
  type Connection,
  MIN_RETRY_DELAY_MS,
  MAX_RETRY_DELAY_MS,
  isOfServer,
  requireStatus,
  send,
} from './connection.ts'

/** For this long an outcome that a proxy refuses is sent again, in ms. */
const FINISH_MS = 30_000

/** The server no longer knows this job as ours: its lease ran out, or the job and its token are gone. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
  isGone: boolean

  constructor(what: string, status: 401 | 409) {
    super(`the server answered ${status} to ${what}`)
    this.isGone = status === 401
  }
}

/** The job that a response brings, if it brings one. */
export async function jobOf({ statusCode, body }: Dispatcher.ResponseData): Promise<AgentJob | undefined> {
  if (statusCode === 200) return agentJob.parse(await body.json())
  await body.dump()
  return undefined
}

/** Whether a connection broke, as opposed to what was done with the bytes that came over it. */
function isTransportError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(UND_ERR_|ECONN|EPIPE|ETIMEDOUT)/.test(code)
}

type JobFile = { kind: ArtifactKind; bytes: Uint8Array }
type ResultParts = {
  log: { offset: number; bytes: Uint8Array } | undefined
  files: readonly JobFile[]
  /** The agent would go on with the apply at once. */
  takesApply: boolean
}

function sizesOf(files: readonly JobFile[]) {
  return files.map(({ kind, bytes }) => ({ kind, size: bytes.length }))
}

export type JobClient = ReturnType<typeof jobClient>

/** The calls of one job. Each rejects with `LeaseLost` once the server has given the job up. */
export function jobClient(connection: Connection, job: Pick<AgentJob, 'id' | 'token'>) {
  const { token } = job

  async function sendForJob(call: Omit<Call, 'token'>, wanted: readonly number[]) {
    const full = { ...call, path: `/jobs/${job.id}${call.path}`, token }
    const response = await send(connection, full)
    if ((response.statusCode === 409 || response.statusCode === 401) && isOfServer(response)) {
      await response.body.dump()
      throw new LeaseLost(`${call.method} ${full.path}`, response.statusCode)
    }
    await requireStatus(full, response, wanted)
    return response
  }

  async function sendEnvelope(
    path: string,
    body: Uint8Array,
    { signal, retryTimeoutMs }: { signal: AbortSignal; retryTimeoutMs: number },
  ) {
    const call = { method: 'POST', path, body, proxyRetryTimeoutMs: retryTimeoutMs, signal } as const
    return sendForJob(call, [200, 204])
  }

  /** Receives a body, again from its beginning when the connection breaks; undefined when there is none. */
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
    /** A retried claim returns at once, which shows that the agent is online. */
    async heartbeat(
      waitMs: number,
      seen: JobCommand,
      { responseMs, signal }: { responseMs: number; signal: AbortSignal },
    ): Promise<JobCommand> {
      const body = JSON.stringify({ waitMs, seen })
      const again = { body: JSON.stringify({ waitMs: 0, seen }), longPollMs: 0 }
      const response = await sendForJob(
        { method: 'POST', path: '/heartbeat', body, longPollMs: waitMs, responseMs, again, signal },
        [200],
      )
      return heartbeatResponse.parse(await response.body.json()).command
    },
    async appendLog(offset: number, bytes: Uint8Array, signal: AbortSignal): Promise<number> {
      const response = await sendForJob({ method: 'PUT', path: `/log?offset=${offset}`, body: bytes, signal }, [200])
      return logResponse.parse(await response.body.json()).size
    },
    async putArtifact(kind: ArtifactKind, body: Uint8Array | { file: string; size: number }, signal: AbortSignal) {
      const response = await sendForJob({ method: 'PUT', path: `/artifacts/${kind}`, body, signal }, [200, 204])
      await response.body.dump()
    },
    /** Undefined when the server has no such artifact. `consume` is called again when the connection breaks. */
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
    /** The outcome is worth a wait: the refusal of a proxy may pass. */
    async finish(body: FinishJob, signal: AbortSignal) {
      const call = { method: 'POST', path: '/finish', body: JSON.stringify(body), signal } as const
      const response = await sendForJob({ ...call, proxyRetryTimeoutMs: FINISH_MS }, [200, 204])
      await response.body.dump()
    },
    /** As `appendLog`, `putArtifact` and `finish`, in one request. Returns the job of the apply that `takesApply` has brought. */
    async sendResult(outcome: FinishJob, { log, files, takesApply }: ResultParts, signal: AbortSignal) {
      const header = {
        outcome,
        takesApply,
        ...(log !== undefined && { log: { offset: log.offset, size: log.bytes.length } }),
        files: sizesOf(files),
      } satisfies ResultHeader
      const chunks = [log?.bytes ?? Buffer.alloc(0), ...files.map(({ bytes }) => bytes)]
      // Where a proxy refuses it, the same goes by several requests.
      const response = await sendEnvelope('/result', packEnvelope(header, chunks), { signal, retryTimeoutMs: 0 })
      // The outcome is stored. A job that did not arrive whole is queued again, since no one says that it was received.
      return jobOf(response).catch(() => undefined)
    },
    /** Sends the pending documents of a plan; `files` are those not sent before. */
    async sendDocuments(
      { files, ...rest }: Omit<DocumentsHeader, 'files'> & { files: readonly JobFile[] },
      signal: AbortSignal,
    ) {
      const header = { ...rest, files: sizesOf(files) } satisfies DocumentsHeader
      const envelope = packEnvelope(
        header,
        files.map(({ bytes }) => bytes),
      )
      const response = await sendEnvelope('/documents', envelope, { signal, retryTimeoutMs: FINISH_MS })
      await response.body.dump()
    },
    async release(signal: AbortSignal) {
      const response = await sendForJob({ method: 'POST', path: '/release', signal }, [200, 204])
      await response.body.dump()
    },
  }
}
