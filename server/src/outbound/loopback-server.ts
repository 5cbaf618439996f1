import { Agent, type Dispatcher } from 'undici'

/** The path of the receiver of run tasks that the server brings along. */
export const OWN_RECEIVER_PATH = '/_sample/review'

const MAX_BYTES = 64 * 1024

/** Address of this process's server, and its certificate (PEM, leaf first). */
export type Listener = { baseUrl: string; origin: string; certificate: string | undefined }

/** How one request gets to the server of this process. */
type LoopbackRoute = { dispatcher: Dispatcher; origin: string; path: string }

type OwnRequest = {
  method: 'GET' | 'PATCH'
  path: string
  headers: Record<string, string>
  body?: string
  signal: AbortSignal
  /** For a longer response only the status is returned. */
  maxBytes?: number
}

/**
 * The server of this process, as it reaches itself: by the address on which it listens. The base URL leads through proxies, names and
 * certificates that clients have and the server may not.
 */
export type LoopbackServer = {
  /** Says where the server listens, once it does. */
  open(listener: Listener): void
  /** The way to the server's own receiver, for exactly its URL; undefined for any other one. */
  receiverAt(url: string): LoopbackRoute | undefined
  /** The path of a URL below the base URL; undefined for a URL elsewhere. */
  pathOf(url: string): string | undefined
  /** Sends a request; throws when no response comes. */
  request(request: OwnRequest): Promise<{ status: number; text: string | undefined }>
  [Symbol.asyncDispose](): Promise<void>
}

export function createLoopbackServer(): LoopbackServer {
  let listener: (Listener & { dispatcher: Dispatcher }) | undefined

  function opened() {
    if (!listener) throw new Error('the server of this process does not listen yet')
    return listener
  }

  return {
    open(given) {
      listener = { ...given, dispatcher: new Agent({ connect: trusting(given.certificate) }) }
    },
    receiverAt(url) {
      if (!listener || url !== `${listener.baseUrl}${OWN_RECEIVER_PATH}`) return undefined
      const { dispatcher, origin } = listener
      return { dispatcher, origin, path: OWN_RECEIVER_PATH }
    },
    pathOf(url) {
      const { baseUrl } = opened()
      return url.startsWith(`${baseUrl}/`) ? url.slice(baseUrl.length) : undefined
    },
    async request({ method, path, headers, body, signal, maxBytes = MAX_BYTES }) {
      const { dispatcher, origin } = opened()
      const response = await dispatcher.request({ origin, method, path, headers, body: body ?? null, signal })
      return { status: response.statusCode, text: await readText(response.body, maxBytes) }
    },
    async [Symbol.asyncDispose]() {
      await listener?.dispatcher.destroy()
    },
  }
}

async function readText(body: Dispatcher.ResponseData['body'], maxBytes: number) {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Trusts the server's own certificate and no other, for whatever names and by whatever authority it was made. */
function trusting(certificate: string | undefined) {
  const [leaf] = certificate?.split(/(?<=-----END CERTIFICATE-----)/) ?? []
  if (leaf === undefined) return {}
  return { ca: leaf, allowPartialTrustChain: true, checkServerIdentity: () => undefined }
}
