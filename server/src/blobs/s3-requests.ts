import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { XmlElement, parseXml } from '@rgrove/parse-xml'
import { AwsClient } from 'aws4fetch'

/** A bucket of Amazon S3 or a compatible store, addressed path-style. */
export type S3Config = {
  /** Origin, such as `https://s3.eu-central-1.amazonaws.com` or `http://127.0.0.1:9000`. */
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** Prepended to every key unchanged; it usually ends with a slash. */
  prefix?: string
}

export type S3Request = {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** When absent, the request is about the bucket itself. */
  key?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Buffer
}

const ATTEMPTS = 5
const FIRST_PAUSE_MS = 100
const PASSING = new Set([408, 429, 500, 502, 503, 504])

/** An error of the store that is not about one blob. */
export class S3Error extends Error {
  override name = 'S3Error'
  readonly status: number
  constructor(request: S3Request, status: number, answer: string) {
    const code = textOf(parseResponse(answer), 'Code') ?? ''
    super(`the object store answered ${request.method} ${request.key ?? 'bucket'} with ${status} ${code}`.trimEnd())
    this.status = status
  }
}

/**
 * Sends signed requests. Failed connections and overloaded stores are retried with growing pauses; every request here
 * may be repeated. The body's hash is signed, so the store refuses content that was damaged in transit.
 */
export function createS3Requests(config: S3Config) {
  const client = new AwsClient({
    accessKeyId: config.accessKeyId,
    secretAccessKey: config.secretAccessKey,
    region: config.region,
    service: 's3',
    retries: 0,
  })
  const bucket = `${config.endpoint.replace(/\/+$/, '')}/${encodeURIComponent(config.bucket)}`

  const send = async (request: S3Request, hash: string) => {
    const url = new URL(request.key === undefined ? bucket : `${bucket}/${config.prefix ?? ''}${request.key}`)
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value)
    return client.fetch(url, {
      method: request.method,
      headers: { ...request.headers, 'x-amz-content-sha256': hash },
      ...(request.body
        ? { body: new Uint8Array(request.body.buffer, request.body.byteOffset, request.body.length) }
        : {}),
    })
  }

  /** Resolves to a response whose status a retry would not change. */
  return async (request: S3Request): Promise<Response> => {
    const hash = await sha256Hex(request.body)
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await send(request, hash)
        if (!PASSING.has(response.status)) return response
        const answer = await response.text()
        if (attempt === ATTEMPTS) throw new S3Error(request, response.status, answer)
      } catch (error) {
        if (attempt === ATTEMPTS) throw error
      }
      await delay(FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random()))
    }
  }
}

async function sha256Hex(body: Buffer | undefined) {
  const hash = createHash('sha256')
  const step = 1024 * 1024
  for (let offset = 0; offset < (body?.length ?? 0); offset += step) {
    hash.update(body?.subarray(offset, offset + step) ?? '')
    // Hashing a part of 16 MB at once would block the event loop for about 10 ms.
    if (offset > 0) await new Promise((resolve) => setImmediate(resolve))
  }
  return hash.digest('hex')
}

/** The root element of the store's response; undefined when it is not XML, such as an empty answer or a proxy's page. */
export function parseResponse(text: string): XmlElement | undefined {
  try {
    // S3 sends spaces to keep the connection open while it completes an upload.
    return parseXml(text.trimStart()).root ?? undefined
  } catch {
    return undefined
  }
}

export function childrenOf(parent: XmlElement | undefined, name: string): XmlElement[] {
  return (parent?.children ?? []).filter((child) => child instanceof XmlElement).filter((child) => child.name === name)
}

/** The text of the first child of that name. */
export function textOf(parent: XmlElement | undefined, name: string): string | undefined {
  return childrenOf(parent, name)[0]?.text
}
