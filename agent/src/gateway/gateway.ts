import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AgentJob, engineResponsesHeader } from '@groundstate/contract/agent'
import { openEnvelope } from '@groundstate/contract/envelope'
import type { AgentLog } from '../log.ts'
import { PROXY_VARIABLES, type RelayTarget, environmentOf } from '../process/relay.ts'
import type { Connection } from '../server/connection.ts'
import type { JobClient } from '../server/job-client.ts'
import { type EngineResponse, type Exchange, proxyRequest, sendBadGateway, sendError, sendResponse } from './proxy.ts'
import { type ObjectUrl, type StateUploads, openStateUploads } from './state-uploads.ts'

/** The base of the public API below the path segment of the job. */
const GATEWAY_API = '/api/v2/'
const OBJECTS = '/objects/'
const VERSIONS = 'state-versions/'
/** Timeout for fetching responses, in ms; after it the engine requests them from the server. */
const RESPONSES_TIMEOUT_MS = 5_000

type EngineResponses = {
  /** By the path below the base of the public API. */
  byPath: Map<string, EngineResponse>
  /** The content of the current state, and its URL in the response about the state. */
  state: { url: string; content: Uint8Array } | undefined
}

type JobOptions = {
  /** Aborts when the job may send no more requests to the server. */
  signal: AbortSignal
  /** Writes to the log of the run. */
  writeLog: (text: string) => void
  /** Responses that are still valid, from the plan of a run whose apply follows at once. */
  previous?: Promise<EngineResponses | undefined> | undefined
}

/** Local HTTP server for engines. Prefetches their responses in one request, sends each state in one request, and proxies everything else. */
export type Gateway = ReturnType<typeof createGateway>
export type GatewayJob = ReturnType<Gateway['addJob']>

type JobEntry = {
  token: Buffer
  responses: Promise<EngineResponses | undefined>
  uploads: StateUploads | undefined
  objects: Map<string, (exchange: Exchange) => Promise<void>>
}

type GatewayOptions = { apiUrl: string; connection: Connection; certificates: string | undefined; log: AgentLog }

/** Creates the gateway of an agent. Its port is opened for the first job. */
export function createGateway({ apiUrl, connection, certificates, log }: GatewayOptions) {
  const entries = new Map<string, JobEntry>()
  let server: Server | undefined
  let opening: Promise<string | undefined> | undefined
  let port: number | undefined

  /** Returns the origin of the gateway; undefined if no port could be opened. */
  async function open(): Promise<string | undefined> {
    server = createServer((request, response) => {
      respond(request, response).catch((error: unknown) => {
        log.error({ error }, 'request of an engine failed')
        if (response.headersSent) response.destroy()
        else sendBadGateway(response, error)
      })
    })
    // An engine may send nothing while it creates a resource.
    server.keepAliveTimeout = 0
    server.requestTimeout = 0
    server.unref()
    try {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    } catch (error) {
      log.warn({ error }, 'the gateway cannot listen: engines connect to the server directly')
      return undefined
    }
    port = (server.address() as AddressInfo).port
    return `http://127.0.0.1:${port}`
  }

  function addJob(job: AgentJob, client: JobClient, { signal, writeLog, previous }: JobOptions) {
    const name = randomBytes(24).toString('base64url')
    opening ??= open()
    const origin = opening
    let hasStoredState = false
    const fetched = fetchResponses(previous, client, signal)
    const entry: JobEntry = {
      token: Buffer.from(`Bearer ${job.engineToken}`),
      objects: new Map(),
      uploads: undefined,
      responses: Promise.all([fetched, origin]).then(([found, base]) => found && prepare(found, `${base}/${name}`)),
    }
    entries.set(name, entry)

    function prepare({ byPath, state }: EngineResponses, base: string): EngineResponses {
      const publish = (handle: (exchange: Exchange) => Promise<void>): ObjectUrl => {
        const id = randomBytes(24).toString('base64url')
        entry.objects.set(id, handle)
        return { url: `${base}${OBJECTS}${id}`, revoke: () => void entry.objects.delete(id) }
      }
      // A copy, since the URLs are those of this job.
      const prepared = { byPath: new Map(byPath), state }
      const statePath = `workspaces/${job.workspaceId}/current-state-version`
      const current = byPath.get(statePath)
      if (current === undefined) return prepared
      if (state !== undefined) {
        const { url } = publish(async ({ response }) => void response.end(state.content))
        const body = Buffer.from(Buffer.from(current.body).toString().replace(state.url, url))
        prepared.byPath.set(statePath, { ...current, body })
      } else if (current.status === 200) {
        // The URL of a state that was not sent may expire before the engine uses it.
        prepared.byPath.delete(statePath)
      }
      entry.uploads = openStateUploads({
        connection,
        apiUrl,
        workspaceId: job.workspaceId,
        token: job.engineToken,
        headers: current.headers,
        publish,
        writeLog,
        onStored() {
          hasStoredState = true
          prepared.byPath.delete(statePath)
        },
      })
      return prepared
    }

    return {
      /** Base of the public API for the job's engine; the server's if the gateway has no port. */
      apiUrl: origin.then((base) => (base === undefined ? apiUrl : `${base}/${name}${GATEWAY_API}`)),
      /** The server's responses, for the next job; undefined if the engine stored a state. */
      responses: () => (hasStoredState ? undefined : fetched),
      /** Call after the engine of this job has ended. */
      close: () => void entries.delete(name),
    }
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '/'
    const end = url.indexOf('/', 1)
    const entry = end === -1 ? undefined : entries.get(url.slice(1, end))
    if (entry === undefined) return sendUnauthorized(request, response)
    const path = url.slice(end)
    // Like the server's URLs of objects, these need no token.
    const object = path.startsWith(OBJECTS) ? entry.objects.get(path.slice(OBJECTS.length)) : undefined
    if (object !== undefined) return object({ request, response })
    if (!path.startsWith(GATEWAY_API) || !isAllowed(request, entry)) return sendUnauthorized(request, response)
    await respondToEngine(entry, path.slice(GATEWAY_API.length), { request, response })
  }

  async function respondToEngine(entry: JobEntry, path: string, exchange: Exchange) {
    const { request, response } = exchange
    const responses = await entry.responses
    const { uploads } = entry
    const known = request.method === 'GET' ? responses?.byPath.get(path) : undefined
    if (known !== undefined) return sendResponse(response, known)
    if (uploads !== undefined) {
      if (request.method === 'POST' && uploads.path === path) return uploads.announce(exchange)
      const id = request.method === 'GET' && path.startsWith(VERSIONS) ? path.slice(VERSIONS.length) : ''
      if (id !== '' && (await uploads.show(id, exchange))) return
    }
    await proxyRequest(connection, apiUrl + path, exchange)
  }

  return {
    addJob,
    /** Target of engines' requests after this agent has died; undefined before the first job. */
    relay: (): RelayTarget | undefined =>
      port === undefined ? undefined : { port, apiUrl, certificates, proxies: environmentOf(PROXY_VARIABLES) },
    [Symbol.dispose]() {
      server?.close()
      server?.closeAllConnections()
    },
  }
}

/** Undefined if the server is of an earlier version or has abandoned the job: the engine then requests them from it. Does not reject. */
async function fetchResponses(previous: JobOptions['previous'], client: JobClient, signal: AbortSignal) {
  try {
    const valid = await previous
    if (valid) return valid
    const timed = AbortSignal.any([signal, AbortSignal.timeout(RESPONSES_TIMEOUT_MS)])
    const envelope = await client.getEngineResponses(timed)
    return envelope && readEngineResponses(envelope)
  } catch {
    return undefined
  }
}

/** Throws for invalid and truncated envelopes. */
function readEngineResponses(envelope: Uint8Array): EngineResponses {
  const opened = openEnvelope(envelope)
  if (opened === undefined) throw new Error('the responses for the engine have no header')
  const { responses, state } = engineResponsesHeader.parse(opened.header)
  let at = 0
  const take = (size: number) => {
    at += size
    if (at > opened.content.length) throw new Error('the responses for the engine are truncated')
    return opened.content.subarray(at - size, at)
  }
  const byPath = new Map(responses.map(({ path, size, ...response }) => [path, { ...response, body: take(size) }]))
  return { byPath, state: state && { url: state.url, content: take(state.size) } }
}

function isAllowed({ headers }: IncomingMessage, { token }: JobEntry) {
  const actual = Buffer.from(headers.authorization ?? '')
  return actual.length === token.length && timingSafeEqual(actual, token)
}

function sendUnauthorized(request: IncomingMessage, response: ServerResponse) {
  request.resume()
  sendError(response, 401, 'unauthorized', 'the token does not belong to a job of this agent')
}
