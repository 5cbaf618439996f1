import { Agent, type Dispatcher } from 'undici'

/** Path of the built-in receiver of run tasks. */
export const OWN_RECEIVER_PATH = '/_sample/review'

const MAX_BYTES = 64 * 1024

/** Address of this process's server, and its certificate (PEM, leaf first). */
export type Listener = { baseUrl: string; origin: string; certificate: string | undefined }

type LoopbackRequest = {
  method: 'GET' | 'PATCH'
  path: string
  headers: Record<string, string>
  body?: string
  signal: AbortSignal
  /** `text` is undefined for a longer response. */
  maxBytes?: number
}

export type LoopbackServer = ReturnType<typeof createLoopbackServer>

/**
 * Client of this process's own server. It uses the address on which the server listens, since the base URL may need proxies, names and
 * certificates that only clients have.
 */
export function createLoopbackServer() {
  let listener: (Listener & { dispatcher: Dispatcher }) | undefined

  function opened() {
    if (!listener) throw new Error('the server of this process is not listening yet')
    return listener
  }

  return {
    /** Sets the address, once the server listens. */
    open(opened: Listener) {
      listener = { ...opened, dispatcher: new Agent({ connect: trusting(opened.certificate) }) }
    },
    /** Route to the built-in receiver, for exactly its URL; undefined for any other URL. */
    receiverAt(url: string) {
      if (!listener || url !== `${listener.baseUrl}${OWN_RECEIVER_PATH}`) return undefined
      const { dispatcher, origin } = listener
      return { dispatcher, origin, path: OWN_RECEIVER_PATH }
    },
    /** Path of a URL below the base URL; undefined for any other URL. */
    pathOf(url: string) {
      const { baseUrl } = opened()
      return url.startsWith(`${baseUrl}/`) ? url.slice(baseUrl.length) : undefined
    },
    /** Sends a request; throws if there is no response. */
    async request({ method, path, headers, body, signal, maxBytes = MAX_BYTES }: LoopbackRequest) {
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

/** Trusts only the server's own certificate, whatever its names and authority. */
function trusting(certificate: string | undefined) {
  const [leaf] = certificate?.split(/(?<=-----END CERTIFICATE-----)/) ?? []
  if (leaf === undefined) return {}
  return { ca: leaf, allowPartialTrustChain: true, checkServerIdentity: () => undefined }
}
