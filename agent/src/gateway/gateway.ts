import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AgentJob } from '@groundstate/contract/agent'
import type { AgentLog } from '../log.ts'
import { type RelayTarget, proxiesOf } from '../process/relay.ts'
import type { Connection } from '../server/connection.ts'
import type { JobClient } from '../server/job-client.ts'
import { type EngineResponses, fetchEngineResponses } from './engine-responses.ts'
import { answerError, answerUnreached, proxyRequest } from './proxy.ts'
import { type Exchange, type Offer, type StateUploads, openStateUploads, sendResponse } from './state-uploads.ts'

/** The base of the public API below the part of a path that names the job. */
const GATEWAY_API = '/api/v2/'
const OBJECTS = '/objects/'

type ServeOptions = {
  /** Aborts when the job can ask the server for nothing more. */
  signal: AbortSignal
  /** Writes to the log of the run. */
  say: (text: string) => void
  /** Responses of the previous job that are still valid, where this one follows at once in the same run. */
  former?: Promise<EngineResponses | undefined> | undefined
}

/** The gateway of one job's engine. */
export type Served = {
  /** Base of the public API for the job's engine. Where there is no gateway, that of the server. */
  apiUrl: Promise<string>
  /** The server's responses, for the job that follows; undefined if the engine stored a state. */
  responses: () => Promise<EngineResponses | undefined> | undefined
  /** Ends it; the engine of this job must have ended. */
  leave: () => void
}

/**
 * Answers the requests of engines on this machine. Of the ten or more that the engines of a job make, the server gets one that asks
 * for all responses, and one for each state that is stored. Everything else is passed on as it is.
 */
export type Gateway = Disposable & {
  serve: (job: AgentJob, client: JobClient, options: ServeOptions) => Served
  /** Target of engines' requests after this agent has died; undefined before the first job. */
  relay: () => RelayTarget | undefined
}

/** A running job. */
type Entry = {
  token: Buffer
  responses: Promise<EngineResponses | undefined>
  uploads: StateUploads | undefined
  objects: Map<string, (exchange: Exchange) => Promise<void>>
}

type GatewayOptions = { apiUrl: string; connection: Connection; certificates: string | undefined; log: AgentLog }

/** The gateway of an agent. Its port is opened for the first job. */
export function createGateway({ apiUrl, connection, certificates, log }: GatewayOptions): Gateway {
  const entries = new Map<string, Entry>()
  const { dispatcher } = connection
  let server: Server | undefined
  let opening: Promise<string | undefined> | undefined
  let port: number | undefined

  /** The origin of the gateway; without one engines ask the server itself. */
  async function open(): Promise<string | undefined> {
    server = createServer((request, response) => {
      answer(request, response).catch((error: unknown) => {
        log.error({ error }, 'a request of an engine could not be answered')
        if (response.headersSent) response.destroy()
        else answerUnreached(response, error)
      })
    })
    // An engine may be silent for as long as a resource takes.
    server.keepAliveTimeout = 0
    server.requestTimeout = 0
    server.unref()
    try {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    } catch (error) {
      log.warn({ error }, 'engines ask the server itself: no port could be opened for them')
      return undefined
    }
    port = (server.address() as AddressInfo).port
    return `http://127.0.0.1:${port}`
  }

  function serve(job: AgentJob, client: JobClient, { signal, say, former }: ServeOptions): Served {
    const name = randomBytes(24).toString('base64url')
    opening ??= open()
    const origin = opening
    let hasStored = false
    const fetched = responsesOf(former, client, signal)
    const entry: Entry = {
      token: Buffer.from(`Bearer ${job.engineToken}`),
      objects: new Map(),
      uploads: undefined,
      responses: Promise.all([fetched, origin]).then(([found, at]) => found && prepare(copyOf(found), `${at}/${name}`)),
    }
    entries.set(name, entry)

    function prepare(found: EngineResponses, base: string): EngineResponses {
      const offer = (handle: (exchange: Exchange) => Promise<void>): Offer => {
        const id = randomBytes(24).toString('base64url')
        entry.objects.set(id, handle)
        return { url: `${base}${OBJECTS}${id}`, withdraw: () => void entry.objects.delete(id) }
      }
      const statePath = `workspaces/${job.workspaceId}/current-state-version`
      const current = found.byPath.get(statePath)
      if (current === undefined) return found
      if (found.state !== undefined) {
        const { url, content } = found.state
        const { url: here } = offer(async ({ response }) => void response.end(content))
        const body = Buffer.from(Buffer.from(current.body).toString().replace(url, here))
        found.byPath.set(statePath, { ...current, body })
      }
      entry.uploads = openStateUploads({
        dispatcher,
        apiUrl,
        workspaceId: job.workspaceId,
        token: job.engineToken,
        headers: current.headers,
        offer,
        say,
        onStored() {
          hasStored = true
          found.byPath.delete(statePath)
        },
      })
      return found
    }

    return {
      apiUrl: origin.then((at) => (at === undefined ? apiUrl : `${at}/${name}${GATEWAY_API}`)),
      responses: () => (hasStored ? undefined : fetched),
      leave: () => void entries.delete(name),
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '/'
    const end = url.indexOf('/', 1)
    const entry = end === -1 ? undefined : entries.get(url.slice(1, end))
    if (entry === undefined) return refuse(request, response)
    const path = url.slice(end)
    // As the server's own URLs of objects, these need no token.
    const object = path.startsWith(OBJECTS) ? entry.objects.get(path.slice(OBJECTS.length)) : undefined
    if (object !== undefined) return object({ request, response })
    if (!path.startsWith(GATEWAY_API) || !isAllowed(request, entry)) return refuse(request, response)
    await answerEngine(entry, path.slice(GATEWAY_API.length), { request, response })
  }

  async function answerEngine(entry: Entry, path: string, exchange: Exchange) {
    const { request, response } = exchange
    const responses = await entry.responses
    const known = request.method === 'GET' ? responses?.byPath.get(path) : undefined
    if (known !== undefined) return sendResponse(response, known)
    if (entry.uploads !== undefined) {
      if (request.method === 'POST' && entry.uploads.path === path) return entry.uploads.announce(exchange)
      const id = request.method === 'GET' && path.startsWith(VERSIONS) ? path.slice(VERSIONS.length) : ''
      if (id !== '' && (await entry.uploads.show(id, exchange))) return
    }
    await proxyRequest(dispatcher, apiUrl + path, exchange)
  }

  return {
    serve,
    relay: () => (port === undefined ? undefined : { port, apiUrl, certificates, proxies: proxiesOf(process.env) }),
    [Symbol.dispose]() {
      server?.close()
      server?.closeAllConnections()
    },
  }
}

async function responsesOf(former: ServeOptions['former'], client: JobClient, signal: AbortSignal) {
  return (await former) ?? fetchEngineResponses(client, signal)
}

/** The URLs of one job in the gateway. */
function copyOf({ byPath, ...rest }: EngineResponses): EngineResponses {
  return { ...rest, byPath: new Map(byPath) }
}

const VERSIONS = 'state-versions/'

function isAllowed({ headers }: IncomingMessage, { token }: Entry) {
  const given = Buffer.from(headers.authorization ?? '')
  return given.length === token.length && timingSafeEqual(given, token)
}

function refuse(request: IncomingMessage, response: ServerResponse) {
  request.resume()
  answerError(response, { status: 401, title: 'unauthorized', detail: 'the token is not that of a job of this agent' })
}
