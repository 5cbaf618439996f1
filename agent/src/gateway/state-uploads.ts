import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { type Dispatcher, request as send } from 'undici'
import { z } from 'zod'
import { type Connection, detailOf, parseJson } from '../server/connection.ts'
import { type EngineResponse, type Exchange, endToEnd, proxyRequest, sendBadGateway, sendResponse } from './proxy.ts'

/** States up to this size (bytes) are buffered, to be stored by one request; larger ones are streamed to the server. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024

/** An engine uploads both contents at the same time: the JSON state, if any, starts within this time (ms) after the state. */
const JSON_START_MS = 250

/** The request for a version whose content follows; unknown attributes are passed to the server. */
const pendingBody = z.looseObject({
  data: z.looseObject({
    attributes: z.looseObject({
      serial: z.number(),
      md5: z.string(),
      lineage: z.string().nullish(),
      state: z.undefined().optional(),
      'json-state': z.undefined().optional(),
    }),
  }),
})

const createdResponse = z.object({
  data: z.object({
    id: z.string(),
    attributes: z.object({
      'hosted-state-upload-url': z.string(),
      'hosted-json-state-upload-url': z.string().nullish(),
    }),
  }),
})

/** A URL of the gateway, until it is withdrawn. */
export type ObjectUrl = { url: string; revoke: () => void }

type Version = {
  id: string
  body: z.infer<typeof pendingBody>
  /** The JSON state, once its upload has started. */
  json?: Promise<Buffer> | undefined
  jsonStarts: PromiseWithResolvers<void>
  /** The version at the server, if its content is sent in separate requests. */
  atServer?: Promise<Created> | undefined
  storing?: Promise<EngineResponse> | undefined
  stored?: EngineResponse
  offers: ObjectUrl[]
}

type Created = { id: string; rawUrl: string; jsonUrl: string | undefined }

class StateRejectedError extends Error {
  override name = 'StateRejectedError'
  response: EngineResponse

  constructor(response: EngineResponse) {
    super(`the server responded to a state with ${response.status}`)
    this.response = response
  }
}

type StateTarget = {
  connection: Connection
  apiUrl: string
  workspaceId: string
  token: string
  /** Headers of the server's responses about states; one of them is the snapshot interval. */
  headers: Record<string, string>
  publish: (handle: (exchange: Exchange) => Promise<void>) => ObjectUrl
  /** Writes to the log of the run. */
  writeLog: (text: string) => void
  /** The state of the workspace may have changed. */
  onStored: () => void
}

export type StateUploads = ReturnType<typeof openStateUploads>

/**
 * Stores the states of a job's engine, which creates a version and uploads the state and its JSON: the server gets all of it in one
 * request, before the upload of the state gets its response. Large content, and a state without JSON, is proxied.
 */
export function openStateUploads(target: StateTarget) {
  const versions = new Map<string, Version>()
  const { connection, apiUrl } = target
  const path = `workspaces/${target.workspaceId}/state-versions`

  /** Responds to the creation of a version, or proxies it if it includes content. */
  async function announce({ request, response }: Exchange) {
    const bytes = isBuffered(request) ? await buffer(request) : undefined
    const { data: body } = pendingBody.safeParse(bytes && parseJson(bytes.toString()))
    if (body === undefined) {
      // Older engines include the content.
      target.onStored()
      return proxyRequest(connection, apiUrl + path, { request, response }, bytes)
    }
    const id = `sv-${randomUUID().replaceAll('-', '')}`
    const version: Version = { id, body, jsonStarts: Promise.withResolvers(), offers: [] }
    // An engine stores states sequentially, and many during a long apply.
    forgetVersions()
    versions.set(id, version)
    const publish = (take: typeof takeRaw) =>
      target.publish(async (exchange) => withRejection(exchange, () => take(version, exchange)))
    const raw = publish(takeRaw)
    const json = publish(takeJson)
    version.offers.push(raw, json)
    const { serial, md5, lineage = null } = body.data.attributes
    const attributes = {
      serial,
      md5,
      lineage,
      status: 'pending',
      'hosted-state-download-url': null,
      'hosted-json-state-download-url': null,
      'hosted-state-upload-url': raw.url,
      'hosted-json-state-upload-url': json.url,
    }
    const document = { data: { id, type: 'state-versions', attributes } }
    response.writeHead(201, target.headers).end(JSON.stringify(document))
  }

  function forgetVersions() {
    for (const { offers } of versions.values()) for (const { revoke } of offers) revoke()
    versions.clear()
  }

  /** Responds to a read of a version; returns false if the id is unknown here. */
  async function show(id: string, { request, response }: Exchange): Promise<boolean> {
    const version = versions.get(id)
    if (version === undefined) return false
    if (version.stored !== undefined) sendResponse(response, { ...version.stored, status: 200 })
    else {
      const known = await version.atServer?.catch(() => undefined)
      await proxyRequest(connection, `${apiUrl}state-versions/${known?.id ?? id}`, { request, response })
    }
    return true
  }

  async function takeJson(version: Version, { request, response }: Exchange) {
    if (version.stored !== undefined) return discard(request, response)
    version.jsonStarts.resolve()
    if (version.atServer !== undefined || !isBuffered(request)) {
      const { jsonUrl } = await createAtServer(version)
      if (jsonUrl === undefined) return discard(request, response)
      return proxyRequest(connection, jsonUrl, { request, response })
    }
    const reading = buffer(request)
    version.json = reading
    await reading.catch((error: unknown) => {
      // The engine retries, or drops the version.
      version.json = undefined
      throw error
    })
    response.writeHead(200).end()
  }

  async function takeRaw(version: Version, { request, response }: Exchange) {
    if (version.stored !== undefined) return discard(request, response)
    const raw = isBuffered(request) ? await buffer(request) : undefined
    if (raw !== undefined)
      await Promise.race([version.jsonStarts.promise, delay(JSON_START_MS, undefined, { ref: false })])
    const json = await version.json
    if (raw === undefined || json === undefined || version.atServer !== undefined) {
      const { rawUrl, jsonUrl } = await createAtServer(version)
      if (json !== undefined && jsonUrl !== undefined)
        await exchange(jsonUrl, { method: 'PUT', headers: { 'content-type': 'application/octet-stream' }, body: json })
      version.json = undefined
      target.onStored()
      return proxyRequest(connection, rawUrl, { request, response }, raw)
    }
    version.storing ??= store(version, { raw, json }).finally(() => (version.storing = undefined))
    version.stored = await version.storing
    version.json = undefined
    response.writeHead(200).end()
  }

  async function store({ body: { data, ...body } }: Version, { raw, json }: { raw: Buffer; json: Buffer }) {
    const contents = { state: raw.toString('base64'), 'json-state': json.toString('base64') }
    // Even a failed request may have stored it.
    target.onStored()
    return post({ ...body, data: { ...data, attributes: { ...data.attributes, ...contents } } })
  }

  async function createAtServer(version: Version): Promise<Created> {
    version.atServer ??= post(version.body)
      .then(({ body }) => {
        const { id, attributes } = createdResponse.parse(parseJson(Buffer.from(body).toString())).data
        const jsonUrl = attributes['hosted-json-state-upload-url'] ?? undefined
        return { id, rawUrl: attributes['hosted-state-upload-url'], jsonUrl }
      })
      .catch((error: unknown) => {
        version.atServer = undefined
        throw error
      })
    return version.atServer
  }

  async function post(document: unknown): Promise<EngineResponse> {
    const headers = { authorization: `Bearer ${target.token}`, 'content-type': 'application/vnd.api+json' }
    return exchange(apiUrl + path, { method: 'POST', headers, body: JSON.stringify(document) })
  }

  async function exchange(url: string, options: Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'>) {
    const { dispatcher } = connection
    const { statusCode: status, headers, body } = await send(url, { dispatcher, ...options })
    const response: EngineResponse = {
      status,
      headers: endToEnd(headers) as Record<string, string>,
      body: new Uint8Array(await body.arrayBuffer()),
    }
    if (status < 300) return response
    // The engine retries other statuses, and shows only the status of a failed upload.
    if (status < 500 && status !== 429) {
      const detail = detailOf(Buffer.from(response.body).toString()).slice(0, 1_000)
      target.writeLog(`\nThe server rejected the state: ${detail}\n`)
    }
    throw new StateRejectedError(response)
  }

  return { path, announce, show }
}

/** Passes a rejection by the server to the engine, which then keeps the state in a file. */
async function withRejection({ request, response }: Exchange, work: () => Promise<void>) {
  try {
    await work()
  } catch (error) {
    if (response.headersSent) return void response.destroy()
    request.resume()
    if (error instanceof StateRejectedError) sendResponse(response, error.response)
    else sendBadGateway(response, error)
  }
}

function isBuffered({ headers }: IncomingMessage) {
  return Number(headers['content-length'] ?? NaN) <= MAX_BUFFERED_BYTES
}

/** Accepts content that the server already has: the engine did not receive the response to an earlier attempt. */
function discard(request: IncomingMessage, response: ServerResponse) {
  request.resume()
  response.writeHead(200).end()
}
