import { isIP } from 'node:net'
import { rootCertificates } from 'node:tls'
import { LRUCache } from 'lru-cache'
import { type Dispatcher, EnvHttpProxyAgent } from 'undici'
import { type AddressRule, addressProblem } from './addresses.ts'
import { ForbiddenAddressError, type Resolve, guardedConnector } from './connect.ts'
import { failureWords, innermostError } from './failure.ts'
import type { LoopbackServer } from './loopback-server.ts'
import { urlHostname, urlProblem } from './url.ts'

export type OutboundRequest = {
  url: string
  headers: Record<string, string>
  body: Buffer
  /** The limit until the first byte of the response, in ms. */
  timeoutMs: number
  /** Certificate authorities in PEM to trust in addition to the public ones. */
  ca?: string | undefined
  signal?: AbortSignal | undefined
}

/**
 * The result of a request: a response, or the reason in plain words why none came. `isPrivate` says whether this process
 * has sent it to a private address or to this machine.
 */
export type Exchange = { startedAt: number; durationMs: number; isPrivate: boolean } & (
  | { response: OutboundResponse; error?: undefined }
  | { response?: undefined; error: string }
)
export type OutboundResponse = {
  status: number
  headers: Record<string, string | string[]>
  /** The first `MAX_BODY_BYTES` of the body. */
  body: Buffer
  truncated: boolean
}

/** Requests to addresses that users have configured. */
export type Outbound = {
  /** Why no request may go to the URL, without asking the network; undefined when one may. */
  problem(url: string): string | undefined
  /** Sends a POST request; follows no redirects, and never throws. */
  post(request: OutboundRequest): Promise<Exchange>
  [Symbol.asyncDispose](): Promise<void>
}

export type OutboundOptions = AddressRule & {
  httpProxy?: string | undefined
  httpsProxy?: string | undefined
  /** Hosts that are called without the proxy, separated by commas. */
  noProxy?: string | undefined
  /** Resolves names; the system's resolver by default. */
  resolve?: Resolve
  /** The server of this process. Requests to its own receiver take a short way, whatever the rule for addresses. */
  loopbackServer?: Pick<LoopbackServer, 'receiverAt'>
}

export const MAX_BODY_BYTES = 64 * 1024
const CONNECT_TIMEOUT_MS = 10_000
/** A response counts once its status is known. Its body is only for display, and gets this long. */
const BODY_TIMEOUT_MS = 5000
const MAX_AUTHORITIES = 100

/**
 * A proxy resolves names and connects by itself, so it also decides about addresses. Only IP addresses in URLs are
 * checked here then.
 */
export function createOutbound(options: OutboundOptions): Outbound {
  /** Connections are cached by the authorities that verified them. */
  const dispatchers = new LRUCache<string, Dispatcher>({
    max: MAX_AUTHORITIES,
    dispose: (dispatcher) => void dispatcher.close(),
  })

  /** Private addresses have connections of their own, so that it is certain of each response where it comes from. */
  function dispatcherFor(ca: string | undefined, rule: AddressRule): Dispatcher {
    const key = `${rule.allowPrivate} ${ca ?? ''}`
    const known = dispatchers.get(key)
    if (known) return known
    const trusted = ca === undefined ? {} : { ca: [...rootCertificates, ca] }
    const created = new EnvHttpProxyAgent({
      httpProxy: options.httpProxy ?? '',
      httpsProxy: options.httpsProxy ?? '',
      noProxy: options.noProxy ?? '',
      connect: guardedConnector(rule, {
        ...trusted,
        timeoutMs: CONNECT_TIMEOUT_MS,
        resolve: options.resolve,
      }),
      requestTls: trusted,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    dispatchers.set(key, created)
    return created
  }

  return {
    problem: (url) => (options.loopbackServer?.receiverAt(url) ? undefined : urlProblem(url, options)),

    async post({ url, headers, body, timeoutMs, ca, signal }) {
      const startedAt = Date.now()
      const started = performance.now()
      const since = () => Math.round(performance.now() - started)
      const own = options.loopbackServer?.receiverAt(url)
      const problem = own ? undefined : urlProblem(url, options)
      if (problem !== undefined) return { startedAt, durationMs: 0, isPrivate: false, error: problem }

      const timeout = AbortSignal.timeout(timeoutMs)
      const { origin, pathname, search } = new URL(url)
      async function send(isPrivate: boolean): Promise<Exchange> {
        const facts = { startedAt, isPrivate }
        const way = own ?? {
          dispatcher: dispatcherFor(ca, { allowPrivate: isPrivate }),
          origin,
          path: `${pathname}${search}`,
        }
        try {
          const response = await way.dispatcher.request({
            origin: way.origin,
            path: way.path,
            method: 'POST',
            headers,
            body,
            signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
          })
          const durationMs = since()
          const content = await readStart(response.body)
          const answer = { status: response.statusCode, headers: responseHeaders(response.headers), ...content }
          return { ...facts, durationMs, response: answer }
        } catch (error) {
          if (isForbidden(error) && options.allowPrivate && !isPrivate) return send(true)
          const durationMs = since()
          if (signal?.aborted) return { ...facts, durationMs, error: 'the server was stopped before a response came' }
          if (timeout.aborted) return { ...facts, durationMs, error: `no response within ${timeoutMs / 1000} s` }
          return { ...facts, durationMs, error: failureWords(error) }
        }
      }
      // A proxy would send it to a private address in the URL as well. What this server answers itself is no secret of its network.
      return send(own === undefined && isPrivateLiteral(url))
    },

    async [Symbol.asyncDispose]() {
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.destroy()))
    },
  }
}

function isForbidden(error: unknown) {
  return innermostError(error) instanceof ForbiddenAddressError
}

/** Whether the URL names a private address by its number. */
function isPrivateLiteral(url: string) {
  const host = urlHostname(new URL(url))
  return isIP(host) !== 0 && addressProblem(host, { allowPrivate: false }) !== undefined
}

/** Reads the beginning of a body, and closes the connection if more follows. */
async function readStart(body: Dispatcher.ResponseData['body']) {
  const chunks: Buffer[] = []
  let size = 0
  const timer = setTimeout(() => body.destroy(), BODY_TIMEOUT_MS)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_BODY_BYTES) break
    }
    return { body: Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES), truncated: size > MAX_BODY_BYTES }
  } catch {
    return { body: Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES), truncated: true }
  } finally {
    clearTimeout(timer)
  }
}

function responseHeaders(headers: Record<string, string | string[] | undefined>) {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string | string[]] => entry[1] !== undefined),
  )
}
