import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { type Dispatcher, request as send } from 'undici'
import { z } from 'zod'
import { detailOf, parseJson } from '../server/connection.ts'
import type { EngineResponse } from './engine-responses.ts'
import { answerUnreached, endToEnd, proxyRequest } from './proxy.ts'

/** Up to this size (bytes) a state is held in memory, to be stored by one request; a larger one goes to the server as it comes. */
const MAX_HELD_BYTES = 4 * 1024 * 1024

/** An engine uploads both contents at the same time: the JSON state begins so soon (ms) after the state, if there is one. */
const JSON_MS = 250

/** A request of the engine and the response to it. */
export type Exchange = { request: IncomingMessage; response: ServerResponse }

/** The request for a version whose content follows; what else is in it goes to the server as it is. */
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
type PendingBody = z.infer<typeof pendingBody>

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
export type Offer = { url: string; withdraw: () => void }

/** A version as the engine knows it. */
type Version = {
  id: string
  body: PendingBody
  /** The JSON state, as soon as its upload has begun. */
  json: Promise<Buffer> | undefined
  jsonBegins: PromiseWithResolvers<void>
  /** The same version at the server, where its content goes there in several requests. */
  atServer: Promise<Created> | undefined
  storing: Promise<EngineResponse> | undefined
  stored: EngineResponse | undefined
  offers: Offer[]
}

type Created = { id: string; rawUrl: string; jsonUrl: string | undefined }

/** The server has not taken a state, in these words. */
class StateRejectedError extends Error {
  override name = 'NotTaken'
  response: EngineResponse

  constructor(answer: EngineResponse) {
    super(`the server answered ${answer.status} to a state`)
    this.response = answer
  }
}

type StateTarget = {
  dispatcher: Dispatcher
  /** Base of the public API. */
  apiUrl: string
  workspaceId: string
  token: string
  /** The headers of the server's answers about states; one of them says how often to store. */
  headers: Record<string, string>
  /** Makes a URL of the gateway at which `handle` answers. */
  offer: (handle: (exchange: Exchange) => Promise<void>) => Offer
  /** Writes to the log of the run. */
  say: (text: string) => void
  /** The workspace has another state than before. */
  onStored: () => void
}

export type StateUploads = ReturnType<typeof openStateUploads>

/**
 * Takes the states that the engine of a job stores. An engine announces a version, and uploads its JSON and the state itself.
 * The server gets all of it in one request, and the upload of the state is answered when the server has stored it. What is large,
 * or comes without JSON, the server gets as the engine sends it.
 */
export function openStateUploads(target: StateTarget) {
  const versions = new Map<string, Version>()
  const path = `workspaces/${target.workspaceId}/state-versions`

  /** Answers the announcement of a version, or passes it on when it is more than that. */
  async function announce({ request, response }: Exchange) {
    const bytes = isHeld(request) ? await buffer(request) : undefined
    const read = bytes && pendingBody.safeParse(parseJson(bytes.toString()))
    if (!read?.success) {
      // It may have the content in it, as that of older engines.
      target.onStored()
      return proxyRequest(target.dispatcher, target.apiUrl + path, { request, response }, bytes)
    }
    const version: Version = {
      id: `sv-${randomUUID().replaceAll('-', '')}`,
      body: read.data,
      json: undefined,
      jsonBegins: Promise.withResolvers(),
      atServer: undefined,
      storing: undefined,
      stored: undefined,
      offers: [],
    }
    // An engine stores one state after the other, and a long apply many.
    forgetVersions()
    versions.set(version.id, version)
    const raw = target.offer(async (exchange) => refusable(exchange, () => takeRaw(version, exchange)))
    const json = target.offer(async (exchange) => refusable(exchange, () => takeJson(version, exchange)))
    version.offers.push(raw, json)
    const { serial, md5, lineage } = read.data.data.attributes
    const attributes = {
      serial,
      md5,
      lineage: lineage ?? null,
      status: 'pending',
      'hosted-state-download-url': null,
      'hosted-json-state-download-url': null,
      'hosted-state-upload-url': raw.url,
      'hosted-json-state-upload-url': json.url,
    }
    const document = { data: { id: version.id, type: 'state-versions', attributes } }
    response.writeHead(201, target.headers).end(JSON.stringify(document))
  }

  function forgetVersions() {
    for (const { offers } of versions.values()) for (const { withdraw } of offers) withdraw()
    versions.clear()
  }

  /** Answers for a version of the engine; false for one that is not known here. */
  async function show(id: string, { request, response }: Exchange): Promise<boolean> {
    const version = versions.get(id)
    if (version === undefined) return false
    if (version.stored !== undefined) sendResponse(response, { ...version.stored, status: 200 })
    else {
      const known = await version.atServer?.catch(() => undefined)
      await proxyRequest(target.dispatcher, `${target.apiUrl}state-versions/${known?.id ?? id}`, { request, response })
    }
    return true
  }

  async function takeJson(version: Version, { request, response }: Exchange) {
    if (version.stored !== undefined) return drain(request, response)
    version.jsonBegins.resolve()
    if (version.atServer !== undefined || !isHeld(request)) {
      const { jsonUrl } = await createAtServer(version)
      if (jsonUrl === undefined) return drain(request, response)
      return proxyRequest(target.dispatcher, jsonUrl, { request, response })
    }
    const reading = buffer(request)
    version.json = reading
    await reading.catch((error: unknown) => {
      // The engine tries again, or gives the version up.
      version.json = undefined
      throw error
    })
    response.writeHead(200).end()
  }

  async function takeRaw(version: Version, { request, response }: Exchange) {
    if (version.stored !== undefined) return drain(request, response)
    const raw = isHeld(request) ? await buffer(request) : undefined
    if (raw !== undefined) await Promise.race([version.jsonBegins.promise, delay(JSON_MS, undefined, { ref: false })])
    const json = await version.json
    if (raw === undefined || json === undefined || version.atServer !== undefined) {
      const { rawUrl, jsonUrl } = await createAtServer(version)
      if (json !== undefined && jsonUrl !== undefined) await put(jsonUrl, json)
      version.json = undefined
      target.onStored()
      return proxyRequest(target.dispatcher, rawUrl, { request, response }, raw)
    }
    version.storing ??= store(version, { raw, json }).finally(() => (version.storing = undefined))
    version.stored = await version.storing
    version.json = undefined
    response.writeHead(200).end()
  }

  async function store({ body }: Version, { raw, json }: { raw: Buffer; json: Buffer }): Promise<EngineResponse> {
    const contents = { state: raw.toString('base64'), 'json-state': json.toString('base64') }
    const { data } = body
    // Whatever comes of it, what was known of the state may be old.
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
    return exchange(target.apiUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${target.token}`, 'content-type': 'application/vnd.api+json' },
      body: JSON.stringify(document),
    })
  }

  /** Content for a signed URL. */
  async function put(url: string, body: Buffer) {
    await exchange(url, { method: 'PUT', headers: { 'content-type': 'application/octet-stream' }, body })
  }

  /** Throws `NotTaken` unless the response is a success. */
  async function exchange(url: string, options: Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'>) {
    const { statusCode, headers, body } = await send(url, { dispatcher: target.dispatcher, ...options })
    const answer = {
      status: statusCode,
      headers: endToEnd(headers) as Record<string, string>,
      body: new Uint8Array(await body.arrayBuffer()),
    }
    if (statusCode < 300) return answer
    // Of a failed upload the engine shows the status alone; what may pass it tries again.
    if (statusCode < 500 && statusCode !== 429) {
      target.say(
        `\nThe server does not take the state: ${detailOf(Buffer.from(answer.body).toString()).slice(0, 1_000)}\n`,
      )
    }
    throw new StateRejectedError(answer)
  }

  return { path, announce, show }
}

/** The engine gets the response of the server: after a refusal it keeps the state in a file. */
async function refusable({ request, response }: Exchange, work: () => Promise<void>) {
  try {
    await work()
  } catch (error) {
    if (response.headersSent) return void response.destroy()
    request.resume()
    if (error instanceof StateRejectedError) sendResponse(response, error.response)
    else answerUnreached(response, error)
  }
}

export function sendResponse(response: ServerResponse, { status, headers, body }: EngineResponse) {
  response.writeHead(status, headers).end(body)
}

function isHeld({ headers }: IncomingMessage) {
  return Number(headers['content-length'] ?? NaN) <= MAX_HELD_BYTES
}

/** Content that the server has already: the engine has not seen the response to an earlier attempt. */
function drain(request: IncomingMessage, response: ServerResponse) {
  request.resume()
  response.writeHead(200).end()
}
