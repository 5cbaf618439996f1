import { createHash, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { AwsClient } from 'aws4fetch'
import { prepend, slices } from './content.ts'
import { type BlobDriver, SMALL_BYTES, isOwnKey } from './driver.ts'
import { BlobExistsError, BlobNotFoundError, BlobStoreUnavailableError } from './errors.ts'
import type { CredentialProvider, Credentials } from './s3-credentials.ts'
import { childrenOf, parseResponse, textOf } from './xml.ts'

/** A bucket of Amazon S3 or a compatible store. */
export type S3Config = {
  /** Address of the service, such as `https://s3.eu-central-1.amazonaws.com` or `http://127.0.0.1:9000`; it may have a path. */
  endpoint: string
  bucket: string
  region: string
  /** Whether the bucket is in the path of URLs (the default) or in their host name. */
  addressing?: 'path' | 'virtual-host'
  credentials: CredentialProvider
  /** Prepended to every key unchanged; it usually ends with a slash. */
  prefix?: string
  /** Time for the headers of a response, in ms, beyond the time for sending the body. */
  responseTimeoutMs?: number
}

type S3Request = {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Undefined for a request about the bucket. */
  key?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Buffer
}

const ATTEMPTS = 5
const FIRST_BACKOFF_MS = 100
const RETRYABLE_STATUSES = new Set([408, 429, 500, 502, 503, 504])
/** A firewall may drop a connection silently: without a limit the request would hang for minutes. */
const RESPONSE_TIMEOUT_MS = 10_000
/** Stores may need this long to begin or complete an upload in parts. */
const PARTS_TIMEOUT_MS = 60_000
/** The slowest upload that is allowed for. */
const BYTES_PER_MS = 1000

class S3Error extends Error {
  override name = 'S3Error'
  constructor({ method, key = 'bucket' }: S3Request, status: number, body: string) {
    const code = textOf(parseResponse(body), 'Code') ?? ''
    super(`the object store responded to ${method} ${key} with ${status} ${code}`.trimEnd())
  }
}

/** The URL of the bucket, without a trailing slash. */
function bucketUrl({ endpoint, bucket, addressing }: S3Config) {
  const url = new URL(endpoint)
  const path = url.pathname.replace(/\/+$/, '')
  if (addressing === 'virtual-host') return `${url.protocol}//${bucket}.${url.host}${path}`
  return `${url.origin}${path}/${encodeURIComponent(bucket)}`
}

/**
 * Sends signed requests. Failed connections and overloaded stores are retried with backoff; every request here is idempotent. The hash
 * of the body is signed, so the store rejects content that was damaged in transit. Credentials that expire in between are replaced. Throws a
 * `CredentialsError` if there are none.
 */
function createS3Requests(config: S3Config) {
  const { credentials, region } = config
  const bucket = bucketUrl(config)
  let signer: { credentials: Credentials; client: AwsClient } | undefined

  const clientOf = (credentials: Credentials) => {
    if (signer?.credentials !== credentials) {
      const { accessKeyId, secretAccessKey, sessionToken } = credentials
      const session = sessionToken === undefined ? {} : { sessionToken }
      const client = new AwsClient({ accessKeyId, secretAccessKey, ...session, region, service: 's3', retries: 0 })
      signer = { credentials, client }
    }
    return signer.client
  }

  const send = async (request: S3Request, hash: string, client: AwsClient) => {
    const url = new URL(request.key === undefined ? bucket : `${bucket}/${config.prefix ?? ''}${request.key}`)
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value)
    const { responseTimeoutMs = request.method === 'POST' ? PARTS_TIMEOUT_MS : RESPONSE_TIMEOUT_MS } = config
    const timeoutMs = Math.round(responseTimeoutMs + (request.body?.length ?? 0) / BYTES_PER_MS)
    const late = new AbortController()
    // Not AbortSignal.timeout, which would also end the download of a large body.
    const timer = setTimeout(() => late.abort(new Error(`no response within ${timeoutMs} ms`)), timeoutMs)
    try {
      const signed = await client.sign(url, {
        method: request.method,
        headers: { ...request.headers, 'x-amz-content-sha256': hash },
        ...(request.body
          ? { body: new Uint8Array(request.body.buffer, request.body.byteOffset, request.body.length) }
          : {}),
      })
      // Not a signal of the signed request: fetch copies it, and once that copy's source is collected as garbage, no abort arrives.
      return await fetch(signed, { signal: late.signal })
    } finally {
      clearTimeout(timer)
    }
  }

  return async (request: S3Request): Promise<Response> => {
    const hash = await sha256Hex(request.body)
    let used = await credentials.current()
    let isRenewed = false
    for (let attempt = 1; ; attempt++) {
      const response = await send(request, hash, clientOf(used)).catch((error: unknown) => {
        if (attempt >= ATTEMPTS) throw unavailable(request, error)
      })
      if (response && !isRenewed && (await mayBeExpired(response))) {
        isRenewed = true
        const renewed = await credentials.renew(used)
        if (renewed !== undefined) {
          await response.body?.cancel()
          used = renewed
          continue
        }
      }
      if (response && !RETRYABLE_STATUSES.has(response.status)) return response
      const body = await response?.text()
      if (response && attempt >= ATTEMPTS) throw unavailable(request, new S3Error(request, response.status, body ?? ''))
      await delay(FIRST_BACKOFF_MS * 2 ** (attempt - 1) * (0.5 + Math.random()))
    }
  }
}

function unavailable({ method, key = 'bucket' }: S3Request, cause: unknown) {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause)
  const message = cause instanceof S3Error ? cause.message : `${method} ${key} failed: ${reason}`
  return new BlobStoreUnavailableError(message, { cause })
}

const EXPIRED = /^(?:ExpiredToken|ExpiredTokenException|TokenRefreshRequired|InvalidToken|InvalidAccessKeyId)$/

/** Whether a store rejected the credentials. A response to HEAD has no code. */
async function mayBeExpired(response: Response) {
  if (response.status !== 400 && response.status !== 401 && response.status !== 403) return false
  const text = await response.clone().text()
  return text === '' || EXPIRED.test(textOf(parseResponse(text), 'Code') ?? '')
}

async function sha256Hex(body: Buffer = Buffer.alloc(0)) {
  const hash = createHash('sha256')
  for (const slice of slices(body, 1024 * 1024)) {
    hash.update(slice)
    // Hashing a part of 16 MB at once would block the event loop for about 10 ms.
    if (body.length > slice.length) await nextTurn()
  }
  return hash.digest('hex')
}

/**
 * Size of the parts of a multipart upload. S3 requires at least 5 MB per part and at most 10,000 parts (160 GB). A part takes up to three
 * times its size in memory while it is sent.
 */
const PART_BYTES = 16 * 1024 * 1024

/** Age from which an unfinished upload is left from a killed process, in ms. Its parts take space, and no list of objects has them. */
const ABANDONED_AFTER_MS = 24 * 3_600_000
const UPLOAD_FIELDS = ['Key', 'UploadId', 'Initiated']

/** Header that identifies the put that wrote an object, to recognise our own after a lost response. */
const PUT_ID = 'x-amz-meta-put-id'

/** Blobs as objects of a bucket, named by prefix and key. */
export function openS3Driver(config: S3Config): BlobDriver {
  const request = createS3Requests(config)

  const requireOk = async (sent: S3Request) => {
    const response = await request(sent)
    if (!response.ok) throw new S3Error(sent, response.status, await response.text())
    return response
  }

  /** Completes a write that replaces an object. */
  const replaceObject = async (sent: S3Request) => {
    const text = await (await requireOk(sent)).text()
    if (parseResponse(text)?.name === 'Error') throw new S3Error(sent, 200, text)
  }

  /** Completes a conditional write. A rejection is ignored if an earlier attempt of the same put succeeded. */
  const commit = async (sent: S3Request, key: string, putId: string) => {
    const conditional = await request({ ...sent, headers: { ...sent.headers, 'if-none-match': '*' } })
    // Some stores respond to the condition with 501.
    const response = conditional.status === 501 ? await request(sent) : conditional
    const text = await response.text()
    // CompleteMultipartUpload may send status 200 first and report a failure in the body.
    if (response.ok && parseResponse(text)?.name !== 'Error') return
    const head = await request({ method: 'HEAD', key })
    if (head.ok && head.headers.get(PUT_ID) === putId) return
    if (head.ok) throw new BlobExistsError(key)
    throw new S3Error(sent, response.status, text)
  }

  const writeParts = async (
    key: string,
    putId: string,
    { parts, complete }: { parts: AsyncIterable<Buffer>; complete: typeof commit },
  ) => {
    const begun = await requireOk({ method: 'POST', key, query: { uploads: '' }, headers: { [PUT_ID]: putId } })
    const uploadId = textOf(parseResponse(await begun.text()), 'UploadId') ?? ''
    try {
      const tags: string[] = []
      let size = 0
      for await (const body of parts) {
        const query = { partNumber: String(tags.length + 1), uploadId }
        const response = await requireOk({ method: 'PUT', key, query, body })
        tags.push(response.headers.get('etag') ?? '')
        size += body.length
      }
      const list = tags.map((tag, n) => `<Part><PartNumber>${n + 1}</PartNumber><ETag>${tag}</ETag></Part>`).join('')
      const body = Buffer.from(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`)
      await complete({ method: 'POST', key, query: { uploadId }, body }, key, putId)
      return size
    } catch (error) {
      await request({ method: 'DELETE', key, query: { uploadId } }).catch(() => {})
      throw error
    }
  }

  const put = async (key: string, sealed: Buffer | AsyncIterable<Buffer>, complete: typeof commit) => {
    const putId = randomUUID()
    const parts = inParts(Buffer.isBuffer(sealed) ? [sealed] : sealed)
    const first = await parts.next()
    const body = first.value ?? Buffer.alloc(0)
    if (body.length === PART_BYTES) return writeParts(key, putId, { parts: prepend(body, parts), complete })

    await complete({ method: 'PUT', key, headers: { [PUT_ID]: putId }, body }, key, putId)
    return body.length
  }

  return {
    async write(key, sealed) {
      // Some stores ignore conditional writes; for them, this check keeps blobs write-once.
      if ((await request({ method: 'HEAD', key })).ok) throw new BlobExistsError(key)
      return put(key, sealed, commit)
    },

    async replace(key, sealed) {
      await put(key, sealed, replaceObject)
    },

    async readHead(key, bytes) {
      const sent: S3Request = { method: 'GET', key, headers: { range: `bytes=0-${bytes - 1}` } }
      const response = await request(sent)
      if (response.status === 404 || response.status === 416) {
        await response.body?.cancel()
        return response.status === 404 ? undefined : Buffer.alloc(0)
      }
      if (!response.ok || !response.body) throw new S3Error(sent, response.status, await response.text())
      const chunks: Uint8Array[] = []
      let size = 0
      // Leaving the loop cancels the rest, which a store that ignores the range would send.
      for await (const chunk of response.body) {
        chunks.push(chunk)
        size += chunk.length
        if (size >= bytes) break
      }
      return Buffer.concat(chunks).subarray(0, bytes)
    },

    async read(key) {
      const sent: S3Request = { method: 'GET', key }
      const response = await request(sent)
      if (response.status === 404) {
        await response.body?.cancel()
        throw new BlobNotFoundError(key)
      }
      if (!response.ok || !response.body) throw new S3Error(sent, response.status, await response.text())
      const size = Number(response.headers.get('content-length') ?? Number.POSITIVE_INFINITY)
      if (size <= SMALL_BYTES) return Buffer.from(await response.arrayBuffer())
      return Readable.fromWeb(response.body as ReadableStream<Uint8Array>)
    },

    async stat(key) {
      const sent: S3Request = { method: 'HEAD', key }
      const response = await request(sent)
      if (response.status === 404) return undefined
      if (!response.ok) throw new S3Error(sent, response.status, '')
      return {
        key,
        storedSize: Number(response.headers.get('content-length')),
        modifiedAt: new Date(response.headers.get('last-modified') ?? 0),
      }
    },

    async delete(key) {
      const sent: S3Request = { method: 'DELETE', key }
      const response = await request(sent)
      if (!response.ok && response.status !== 404) throw new S3Error(sent, response.status, await response.text())
    },

    async *list(prefix, cursor) {
      const root = config.prefix ?? ''
      let from: Record<string, string> = cursor === undefined ? {} : { 'start-after': root + cursor }
      for (;;) {
        const sent: S3Request = { method: 'GET', query: { 'list-type': '2', prefix: root + prefix, ...from } }
        const response = await requireOk(sent)
        const text = await response.text()
        const page = parseResponse(text)
        if (page?.name !== 'ListBucketResult') throw new S3Error(sent, response.status, text)
        const keys = childrenOf(page, 'Contents').map((object) => (textOf(object, 'Key') ?? '').slice(root.length))
        const last = keys.at(-1)
        if (last !== undefined) yield { keys, cursor: last }
        const token = textOf(page, 'NextContinuationToken')
        if (token === undefined) return
        from = { 'continuation-token': token }
      }
    },

    async settle(before, signal) {
      const root = config.prefix ?? ''
      let from: Record<string, string> | undefined = {}
      while (from && !signal.aborted) {
        const response = await request({ method: 'GET', query: { uploads: '', prefix: root, ...from } })
        const page = parseResponse(await response.text())
        // Some stores have no such list, and delete the parts themselves.
        if (!response.ok) break
        for (const upload of childrenOf(page, 'Upload')) {
          const [name = '', uploadId = '', initiated = ''] = UPLOAD_FIELDS.map((field) => textOf(upload, field))
          const key = name.slice(root.length)
          if (isOwnKey(key) && Date.parse(initiated) < before.getTime() - ABANDONED_AFTER_MS)
            await request({ method: 'DELETE', key, query: { uploadId } })
        }
        const keyMarker = textOf(page, 'IsTruncated') === 'true' && textOf(page, 'NextKeyMarker')
        from = keyMarker
          ? { 'key-marker': keyMarker, 'upload-id-marker': textOf(page, 'NextUploadIdMarker') ?? '' }
          : undefined
      }
      return 0
    },
    async [Symbol.asyncDispose]() {},
  }
}

/** Splits content into buffers of `PART_BYTES`; only the last may be smaller. */
async function* inParts(content: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let part = Buffer.allocUnsafeSlow(SMALL_BYTES)
  let filled = 0
  for await (const chunk of content) {
    for (let offset = 0; offset < chunk.length;) {
      if (filled === part.length) {
        const bigger = Buffer.allocUnsafeSlow(Math.min(PART_BYTES, part.length * 4))
        part.copy(bigger)
        part = bigger
      }
      const copied = chunk.copy(part, filled, offset)
      offset += copied
      filled += copied
      if (filled < PART_BYTES) continue
      yield part
      part = Buffer.allocUnsafeSlow(PART_BYTES)
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}
