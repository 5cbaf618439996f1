import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import {
  AGENT_API,
  agentJob,
  heartbeatAnswer,
  logAnswer,
  registeredAgent,
  taskRequest,
  type AgentJob,
  type AnswerTaskRequest,
  type ArtifactKind,
  type DocumentsHeader,
  type FinishJob,
  type JobCommand,
  type ResultHeader,
  type TaskRequest,
  type RegisterAgent,
  type WorkKind,
} from '@groundstate/contract/agent'
import { packParcel } from '@groundstate/contract/parcel'
import { Agent, EnvHttpProxyAgent, request, type Dispatcher } from 'undici'
import { z } from 'zod'
import { parseJson } from './parse-json.ts'

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 2_000
/** For this long an outcome that a proxy refuses is sent again, in ms. */
const FINISH_MS = 30_000
/** What a server may take to answer beyond the time that it was asked to hold the request, in ms. */
const ANSWER_MS = 30_000

/** The type of the server's refusals. Those of a proxy have another one, and say nothing about a token or a job. */
const REFUSAL_TYPE = /^application\/vnd\.api\+json\b/

/** The server no longer knows this job as ours: its lease ran out, or the job and its token are gone. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
  isGone: boolean

  constructor(what: string, status: 401 | 409) {
    super(`the server answered ${status} to ${what}`)
    this.isGone = status === 401
  }
}

/** The server, or what stands before it, answered with a status that sending again at once will not change. */
export class Refused extends Error {
  override name = 'Refused'
  status: number
  /** The server itself has said so, and will say it again. */
  isFinal: boolean

  constructor(what: string, status: number, { detail = '', isFinal = false } = {}) {
    super(`the server answered ${status} to ${what}${detail === '' ? '' : `: ${detail}`}`)
    this.status = status
    this.isFinal = isFinal
  }
}

/** Whether the server refuses the agent's token, for whatever it was sent with. */
export function isTokenRefused(error: unknown): error is Refused {
  return error instanceof Refused && error.isFinal && [401, 403].includes(error.status)
}

type Call = {
  method: Dispatcher.HttpMethod
  path: string
  token: string
  body?: string | Uint8Array | { file: string; size: number }
  /** For how long the server was asked to hold the request, in ms. */
  holdMs?: number
  /** What it may take to answer beyond that, in ms. */
  answerMs?: number
  /** For so long (ms) it is sent again when another than the server refuses it, as after a 5xx. */
  proxyPatienceMs?: number
  /** What is different when the call is sent again. */
  again?: Pick<Call, 'body' | 'holdMs'>
  signal: AbortSignal
}

/** A kept-alive connection pool to one server; `onRetry` hears of every attempt that is made again. */
export type Connection = {
  serverUrl: string
  dispatcher: Dispatcher
  onRetry: (reason: string) => void
  /** An attempt that was made again has got its answer. */
  onAnswer?: (() => void) | undefined
}

/** `authorities` is PEM that takes the place of the known certificate authorities. */
export function openConnection(
  serverUrl: string,
  authorities: string | undefined,
  onRetry: (reason: string) => void,
  onAnswer?: () => void,
): Connection {
  const tls = authorities === undefined ? {} : { ca: authorities }
  const options = { keepAliveTimeout: 30_000, connect: { timeout: 10_000, ...tls }, bodyTimeout: 120_000 }
  // No proxy leads back to this machine.
  const isLocal = /^(127\.|localhost$|\[::1\]$)/.test(new URL(serverUrl).hostname)
  const dispatcher = isLocal
    ? new Agent(options)
    : new EnvHttpProxyAgent({ ...options, requestTls: tls, proxyTls: tls })
  return { serverUrl: serverUrl.replace(/\/+$/, ''), dispatcher, onRetry, onAnswer }
}

/**
 * Sends a call, and sends it again after a transport error, a 429 or a 5xx until the signal aborts: every request of the
 * protocol may be repeated, so that a server which restarts costs a job nothing but time.
 */
async function send(connection: Connection, first: Call): Promise<Dispatcher.ResponseData> {
  let call = first
  const patientUntil = performance.now() + (first.proxyPatienceMs ?? 0)
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    call.signal.throwIfAborted()
    const reason = await attempt(connection, call, { outlastsProxies: performance.now() < patientUntil })
    if (typeof reason !== 'string') {
      if (waitMs > FIRST_WAIT_MS) connection.onAnswer?.()
      return reason
    }
    connection.onRetry(`${call.method} ${call.path}: ${reason}`)
    call = { ...call, ...call.again }
    await delay(waitMs * (0.5 + Math.random() / 2), undefined, { signal: call.signal })
  }
}

async function attempt(
  connection: Connection,
  call: Call,
  { outlastsProxies }: { outlastsProxies: boolean },
): Promise<Dispatcher.ResponseData | string> {
  try {
    const response = await request(`${connection.serverUrl}${AGENT_API}${call.path}`, {
      dispatcher: connection.dispatcher,
      method: call.method,
      headers: { authorization: `Bearer ${call.token}`, ...contentHeaders(call.body) },
      body: isFile(call.body) ? createReadStream(call.body.file) : (call.body ?? null),
      headersTimeout: (call.holdMs ?? 0) + (call.answerMs ?? ANSWER_MS),
      signal: call.signal,
    })
    const { statusCode } = response
    const isOfProxy = outlastsProxies && statusCode >= 400 && !isOfServer(response)
    if (statusCode < 500 && statusCode !== 429 && !isOfProxy) return response
    await response.body.dump()
    return `status ${statusCode}`
  } catch (error) {
    call.signal.throwIfAborted()
    return `${reasonOf(error)}${hintOf(error, connection.serverUrl)}`
  }
}

/** The errors of several addresses of one host come without a message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message === '' && 'code' in error ? String(error.code) : error.message
}

const NO_TLS = /^(EPROTO|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST))$/
const UNKNOWN_AUTHORITY = /^(UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|.*SELF_SIGNED_CERT.*)$/

/** What a person can do about a connection that will not come to be by itself. */
function hintOf(error: unknown, serverUrl: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (NO_TLS.test(code)) return `: the server speaks no TLS: write ${serverUrl.replace(/^https:/, 'http:')}`
  if (UNKNOWN_AUTHORITY.test(code)) return ": name the certificate of the server's authority with --ca-file"
  return ''
}

function isFile(body: Call['body']): body is { file: string; size: number } {
  return typeof body === 'object' && 'file' in body
}

function contentHeaders(body: Call['body']): Record<string, string> {
  if (body === undefined) return {}
  if (typeof body === 'string') return { 'content-type': 'application/json' }
  const size = isFile(body) ? body.size : body.byteLength
  return { 'content-type': 'application/octet-stream', 'content-length': String(size) }
}

function contentType({ headers }: Dispatcher.ResponseData) {
  return [headers['content-type']].flat()[0] ?? ''
}

/** Whether a refusal is the server's own. */
function isOfServer(response: Dispatcher.ResponseData) {
  return REFUSAL_TYPE.test(contentType(response))
}

async function requireStatus(call: Call, response: Dispatcher.ResponseData, wanted: readonly number[]) {
  if (wanted.includes(response.statusCode)) return
  const detail = detailOf(await response.body.text()).slice(0, 1_000)
  throw new Refused(`${call.method} ${call.path}`, response.statusCode, { detail, isFinal: isOfServer(response) })
}

const errorDocument = z.object({ errors: z.array(z.object({ title: z.string(), detail: z.string() }).partial()) })

/** The details of an error document; of anything else its text. */
export function detailOf(text: string): string {
  const read = errorDocument.safeParse(parseJson(text))
  if (!read.success) return text
  return read.data.errors.flatMap(({ detail, title }) => detail ?? title ?? []).join('; ')
}

/** Something answers at the address that is no server of this kind. */
export class NoServer extends Error {
  override name = 'NoServer'
}

/** Announces an agent; its id holds until the server says otherwise. Throws `NoServer` when the answer is none of ours. */
export async function register(connection: Connection, token: string, agent: RegisterAgent, signal: AbortSignal) {
  const call: Call = { method: 'POST', path: '/register', token, body: JSON.stringify(agent), signal }
  const response = await send(connection, call)
  const type = contentType(response)
  if (isOfServer(response) && response.statusCode !== 404) await requireStatus(call, response, [200, 201])
  const read = registeredAgent.safeParse(parseJson(await response.body.text()))
  if (read.success) return read.data
  const answer = `${response.statusCode}${type === '' ? '' : ` with ${type}`}`
  throw new NoServer(`${connection.serverUrl} is no Groundstate server: it answered ${answer} to a registration`)
}

type ClaimOptions = { waitMs: number; warmRunIds: string[]; accepts: readonly WorkKind[]; signal: AbortSignal }

/** Waits up to `waitMs` for a job; undefined when none came. */
export async function claim(
  connection: Connection,
  token: string,
  agentId: string,
  { waitMs, warmRunIds, accepts, signal }: ClaimOptions,
): Promise<AgentJob | undefined> {
  const runs = accepts.filter((kind) => kind !== 'task')
  const body = JSON.stringify({ waitMs, warmRunIds, accepts: runs, sendsReceipt: true })
  const call: Call = { method: 'POST', path: `/agents/${agentId}/claim`, token, body, holdMs: waitMs, signal }
  const response = await send(connection, { ...call, proxyPatienceMs: Infinity })
  await requireStatus(call, response, [200, 204])
  return jobOf(response)
}

/** The job that an answer brings, if it brings one. */
async function jobOf({ statusCode, body }: Dispatcher.ResponseData): Promise<AgentJob | undefined> {
  if (statusCode === 200) return agentJob.parse(await body.json())
  await body.dump()
  return undefined
}

/** As `claim`, for a request of a run task. */
export async function claimTask(
  connection: Connection,
  token: string,
  agentId: string,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
): Promise<TaskRequest | undefined> {
  const body = JSON.stringify({ waitMs })
  const call: Call = { method: 'POST', path: `/agents/${agentId}/claim-task`, token, body, holdMs: waitMs, signal }
  const response = await send(connection, { ...call, proxyPatienceMs: Infinity })
  await requireStatus(call, response, [200, 204])
  if (response.statusCode === 200) return taskRequest.parse(await response.body.json())
  await response.body.dump()
  return undefined
}

export async function answerTask(
  connection: Connection,
  { id, token, leaseMs }: Pick<TaskRequest, 'id' | 'token' | 'leaseMs'>,
  answer: AnswerTaskRequest,
) {
  const signal = AbortSignal.timeout(leaseMs)
  const call: Call = {
    method: 'POST',
    path: `/task-requests/${id}/answer`,
    token,
    body: JSON.stringify(answer),
    proxyPatienceMs: Infinity,
    signal,
  }
  const response = await send(connection, call)
  await requireStatus(call, response, [204])
  await response.body.dump()
}

export async function deregister(connection: Connection, token: string, agentId: string, signal: AbortSignal) {
  const call: Call = { method: 'POST', path: `/agents/${agentId}/deregister`, token, signal }
  const response = await send(connection, call)
  await response.body.dump()
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

  async function sendParcel(
    path: string,
    body: Uint8Array,
    { signal, patienceMs }: { signal: AbortSignal; patienceMs: number },
  ) {
    const call = { method: 'POST', path, body, proxyPatienceMs: patienceMs, signal } as const
    return sendForJob(call, [200, 204])
  }

  /** Receives a body, again from its beginning when the connection breaks; undefined when there is none. */
  async function receive<T>(path: string, signal: AbortSignal, consume: (body: Readable) => Promise<T>) {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
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
    /** One that has to be sent again is answered at once: until then nobody knows that the agent is there. */
    async heartbeat(
      waitMs: number,
      seen: JobCommand,
      { answerMs, signal }: { answerMs: number; signal: AbortSignal },
    ): Promise<JobCommand> {
      const body = JSON.stringify({ waitMs, seen })
      const again = { body: JSON.stringify({ waitMs: 0, seen }), holdMs: 0 }
      const response = await sendForJob(
        { method: 'POST', path: '/heartbeat', body, holdMs: waitMs, answerMs, again, signal },
        [200],
      )
      return heartbeatAnswer.parse(await response.body.json()).command
    },
    async appendLog(offset: number, bytes: Uint8Array, signal: AbortSignal): Promise<number> {
      const response = await sendForJob({ method: 'PUT', path: `/log?offset=${offset}`, body: bytes, signal }, [200])
      return logAnswer.parse(await response.body.json()).size
    },
    async putArtifact(kind: ArtifactKind, body: Uint8Array | { file: string; size: number }, signal: AbortSignal) {
      const response = await sendForJob({ method: 'PUT', path: `/artifacts/${kind}`, body, signal }, [200, 204])
      await response.body.dump()
    },
    /** Undefined when the server has no such artifact. `consume` is called again when the connection breaks. */
    getArtifact<T>(kind: ArtifactKind, signal: AbortSignal, consume: (body: Readable) => Promise<T>) {
      return receive(`/artifacts/${kind}`, signal, consume)
    },
    /** What the engine will ask for; undefined when the server is of an earlier version. */
    getEngineAnswers(signal: AbortSignal) {
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
      const response = await sendForJob({ ...call, proxyPatienceMs: FINISH_MS }, [200, 204])
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
      const pieces = [log?.bytes ?? Buffer.alloc(0), ...files.map(({ bytes }) => bytes)]
      // Where a proxy refuses it, the same goes by several requests.
      const response = await sendParcel('/result', packParcel(header, pieces), { signal, patienceMs: 0 })
      // The outcome is stored. A job that did not arrive whole is queued again, since nobody says that it was received.
      return jobOf(response).catch(() => undefined)
    },
    /** What the outcome of a plan has left owing; `files` are those that were not sent before. */
    async sendDocuments(
      { files, ...rest }: Omit<DocumentsHeader, 'files'> & { files: readonly JobFile[] },
      signal: AbortSignal,
    ) {
      const header = { ...rest, files: sizesOf(files) } satisfies DocumentsHeader
      const parcel = packParcel(
        header,
        files.map(({ bytes }) => bytes),
      )
      const response = await sendParcel('/documents', parcel, { signal, patienceMs: FINISH_MS })
      await response.body.dump()
    },
    async release(signal: AbortSignal) {
      const response = await sendForJob({ method: 'POST', path: '/release', signal }, [200, 204])
      await response.body.dump()
    },
  }
}
