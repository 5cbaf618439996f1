import { isIP } from 'node:net'
import { rootCertificates } from 'node:tls'
import { LRUCache } from 'lru-cache'
import { type Dispatcher, EnvHttpProxyAgent } from 'undici'
import { type AddressRule, addressProblem, unbracketed, urlProblem } from './addresses.ts'
import { ForbiddenAddressError, type Resolve, allowedAddresses, guardedConnector } from './connect.ts'
import { failureReason, innermostError } from './failure.ts'
import type { LoopbackServer } from './loopback-server.ts'

export type OutboundRequest = {
  url: string
  headers: Record<string, string>
  body: Buffer
  /** Time limit for the headers of the response, in ms. */
  timeoutMs: number
  /** Additional certificate authorities to trust, in PEM. */
  ca?: string | undefined
  /** How the user has a certificate trusted; by default through the environment of the server. */
  trust?: string | undefined
  signal?: AbortSignal | undefined
}

/** Result of a request: a response, or the reason why there is none. `isPrivate`: this process sent it to a private or loopback address. */
export type Exchange = { startedAt: number; durationMs: number; isPrivate: boolean } & (
  | { response: OutboundResponse; error?: undefined }
  | { response?: undefined; error: string }
)
type OutboundResponse = {
  status: number
  headers: Record<string, string | string[]>
  /** The beginning of the body. */
  body: Buffer
  truncated: boolean
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type FetchOptions = {
  method: Method
  headers: Record<string, string>
  body?: string | null
  /** Maximum size of the response, in bytes; 1 MB by default. */
  maxBytes?: number
  /** 10 s by default. */
  timeoutMs?: number
  signal?: AbortSignal | undefined
}

/** The destination of another program's connection. `port` is undefined for the default of ssh. */
export type OutboundTarget = { scheme: string; host: string; port: number | undefined }

/** A request got no usable response; the message is for the user. */
export class OutboundError extends Error {
  override name = 'OutboundError'
}

export type Outbound = ReturnType<typeof createOutbound>

export type OutboundOptions = AddressRule & {
  httpProxy?: string | undefined
  httpsProxy?: string | undefined
  /** Hosts to call without the proxy, separated by commas. */
  noProxy?: string | undefined
  /** The system's resolver by default. */
  resolve?: Resolve
  /** Requests to the built-in receiver go directly to this server, whatever the rule for addresses. */
  loopbackServer?: Pick<LoopbackServer, 'receiverAt'>
}

export const MAX_BODY_BYTES = 64 * 1024
const MAX_DOCUMENT_BYTES = 1024 * 1024
const FETCH_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 10_000
/** Time limit for the body of a response, in ms. It is only displayed, so a truncated one is no error. */
const BODY_TIMEOUT_MS = 5000
const MAX_AUTHORITIES = 100

/** Sends requests to user-supplied addresses. With a proxy, which resolves names itself, only IP addresses in URLs are checked. */
export function createOutbound(options: OutboundOptions) {
  /** Keyed by trusted authorities and rule: separate connections to private addresses show where a response came from. */
  const dispatchers = new LRUCache<string, Dispatcher>({
    max: MAX_AUTHORITIES,
    dispose: (dispatcher) => void dispatcher.close(),
  })

  function dispatcherFor(ca: string | undefined, rule: AddressRule): Dispatcher {
    const key = `${rule.allowPrivate} ${ca ?? ''}`
    const existing = dispatchers.get(key)
    if (existing) return existing
    const trusted = ca === undefined ? {} : { ca: [...rootCertificates, ca] }
    const created = new EnvHttpProxyAgent({
      httpProxy: options.httpProxy ?? '',
      httpsProxy: options.httpsProxy ?? '',
      noProxy: options.noProxy ?? '',
      connect: guardedConnector(rule, { ...trusted, timeoutMs: CONNECT_TIMEOUT_MS, resolve: options.resolve }),
      requestTls: trusted,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    dispatchers.set(key, created)
    return created
  }

  async function exchange(
    { url, headers, body, timeoutMs, ca, signal }: Omit<OutboundRequest, 'body'> & { body: Buffer | string | null },
    { method, maxBytes, trust }: { method: Method; maxBytes: number; trust?: string | undefined },
  ): Promise<Exchange> {
    const startedAt = Date.now()
    const started = performance.now()
    const loopback = options.loopbackServer?.receiverAt(url)
    const problem = loopback ? undefined : urlProblem(url, options)
    if (problem !== undefined) return { startedAt, durationMs: 0, isPrivate: false, error: problem }

    const timeout = AbortSignal.timeout(timeoutMs)
    const { origin, pathname, search } = new URL(url)
    async function send(isPrivate: boolean): Promise<Exchange> {
      const measure = () => ({ startedAt, isPrivate, durationMs: Math.round(performance.now() - started) })
      const direct = { origin, path: `${pathname}${search}` }
      const { dispatcher, ...target } = loopback ?? {
        dispatcher: dispatcherFor(ca, { allowPrivate: isPrivate }),
        ...direct,
      }
      try {
        const abort = signal ? AbortSignal.any([timeout, signal]) : timeout
        const response = await dispatcher.request({ ...target, method, headers, body, signal: abort })
        const measured = measure()
        const content = await readStart(response.body, maxBytes)
        const { statusCode: status } = response
        return { ...measured, response: { status, headers: responseHeaders(response.headers), ...content } }
      } catch (error) {
        if (isForbidden(error) && options.allowPrivate && !isPrivate) return send(true)
        if (signal?.aborted) return { ...measure(), error: 'the server was stopped before it received a response' }
        if (timeout.aborted) return { ...measure(), error: `no response within ${timeoutMs / 1000} s` }
        return { ...measure(), error: failureReason(error, trust) }
      }
    }
    // A proxy would also connect to a private address in the URL. Responses of this server reveal nothing about its network.
    return send(loopback === undefined && isPrivateLiteral(url))
  }

  return {
    /** Reason why no request may go to the URL, as far as known without network access; undefined if one may. */
    problem: (url: string) => (options.loopbackServer?.receiverAt(url) ? undefined : urlProblem(url, options)),

    /** Sends a POST request without following redirects. Never throws. */
    post: async (request: OutboundRequest) =>
      exchange(request, { method: 'POST', maxBytes: MAX_BODY_BYTES, trust: request.trust }),

    /**
     * As the global `fetch`, for documents. Follows no redirects, and throws an `OutboundError` for the user, or the `TimeoutError` of the
     * caller's signal.
     */
    async fetch(
      url: string,
      { method, headers, body: sent = null, signal, ...limits }: FetchOptions,
    ): Promise<Response> {
      const { maxBytes = MAX_DOCUMENT_BYTES, timeoutMs = FETCH_TIMEOUT_MS } = limits
      const sending = { url, headers, body: sent, timeoutMs, signal }
      const { response, error, isPrivate } = await exchange(sending, { method, maxBytes })
      // Other signals are those of a server that stops.
      const reason: unknown = response ? undefined : signal?.reason
      if (reason instanceof DOMException && reason.name === 'TimeoutError') throw reason
      if (!response) throw new OutboundError(error)
      const whole = wholeResponse(response, maxBytes)
      if (isPrivate) privateResponses.add(whole)
      return whole
    },

    /**
     * Addresses to which another program may connect for a URL, such as git; undefined if the proxy connects. Throws an `OutboundError` for
     * the user.
     */
    async addressesFor({ scheme, host, port }: OutboundTarget): Promise<string[] | undefined> {
      const isWeb = scheme === 'http' || scheme === 'https'
      const name = isIP(host) === 6 ? `[${host}]` : host
      const problem = urlProblem(
        isWeb && port !== undefined ? `${scheme}://${name}:${port}` : `https://${name}`,
        options,
      )
      if (problem !== undefined) throw new OutboundError(problem)
      const proxy = { http: options.httpProxy, https: options.httpsProxy }[scheme]
      if (proxy !== undefined && !isExempt(host, options.noProxy)) return undefined
      return allowedAddresses(host, options, options.resolve).catch((error: unknown) => {
        throw new OutboundError(failureReason(error), { cause: error })
      })
    },

    async [Symbol.asyncDispose]() {
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.destroy()))
    },
  }
}

const privateResponses = new WeakSet<Response>()

/** Whether a response of `fetch` came from a private or loopback address. */
export function isPrivateResponse(response: Response) {
  return privateResponses.has(response)
}

/** Whether a host is called without the proxy. */
function isExempt(host: string, noProxy = '') {
  const names = noProxy.split(/[,\s]+/).map((entry) => entry.replace(/^\*?\./, '').replace(/:\d+$/, ''))
  return names.some((name) => name === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`))))
}

/** A response whose body was read up to `maxBytes`. Throws an `OutboundError` unless it is complete. */
export function wholeResponse({ status, headers, body, truncated }: OutboundResponse, maxBytes: number): Response {
  if (truncated) throw new OutboundError(`the response is larger than ${maxBytes / 1024 / 1024} MB, or was interrupted`)
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  )
  if (status < 200 || status > 599) throw new OutboundError(`the response has the status ${status}`)
  const isEmpty = [204, 205, 304].includes(status)
  return new Response(isEmpty ? null : new Uint8Array(body), { status, headers: lines })
}

function isForbidden(error: unknown) {
  return innermostError(error) instanceof ForbiddenAddressError
}

/** Whether the host of the URL is a private IP address. */
function isPrivateLiteral(url: string) {
  const host = unbracketed(new URL(url).hostname)
  return isIP(host) !== 0 && addressProblem(host, { allowPrivate: false }) !== undefined
}

/** Reads the beginning of a body, and closes the connection if there is more. */
async function readStart(body: Dispatcher.ResponseData['body'], maxBytes: number) {
  const chunks: Buffer[] = []
  let size = 0
  const timer = setTimeout(() => body.destroy(), BODY_TIMEOUT_MS)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > maxBytes) break
    }
  } catch {
    size = Number.POSITIVE_INFINITY
  } finally {
    clearTimeout(timer)
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), truncated: size > maxBytes }
}

function responseHeaders(headers: Record<string, string | string[] | undefined>) {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string | string[]] => entry[1] !== undefined),
  )
}
