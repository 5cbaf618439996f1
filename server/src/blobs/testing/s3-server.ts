import { createHash, createHmac, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { staticCredentials } from '../s3-credentials.ts'
import type { S3Config } from '../s3.ts'

export type StoredObject = { body: Buffer; modifiedAt: Date; headers: Record<string, string> }
type Upload = { key: string; initiatedAt: Date; headers: Record<string, string>; parts: Map<number, Buffer> }
type Call = { method: string; key: string; query: URLSearchParams; request: IncomingMessage; body: Buffer }
type ApiResponse = { status: number; body?: string | Buffer; headers?: Record<string, string | number> }

/** Faults of the next requests, one each: a 503, a 501, a connection closed before or after the request took effect, no response. */
export type S3Fault = 'none' | 'unavailable' | 'unsupported' | 'cut-before' | 'cut-after' | 'silent'

const PAGE = 100
const REFUSALS: Partial<Record<S3Fault, ApiResponse>> = {
  unavailable: failure(503, 'SlowDown'),
  unsupported: failure(501, 'NotImplemented'),
}

/** Secret of an access key. A temporary one has a token and an end, in ms. */
type Key = { secretAccessKey: string; sessionToken?: string; expiresAt?: number }
type Options = {
  addressing?: 'path' | 'virtual-host'
  /** Path of the endpoint. */
  path?: string
  /** Host name of the endpoint. */
  host?: string
  region?: string
  now?: () => number
  port?: number
  /** Holds the objects, such as a map that keeps them on disk. */
  objects?: Map<string, StoredObject>
}

/**
 * An S3-compatible store in this process, on a real socket: PUT, GET, HEAD, DELETE, ListObjectsV2, multipart uploads, their list and
 * `If-None-Match: *`. It rejects requests without a valid SigV4 signature of one of its access keys, and bodies that do not have the
 * signed hash.
 */
export async function createS3Server(options: Options = {}) {
  const { addressing = 'path', path = '', host = '127.0.0.1', region = 'us-east-1', now = Date.now } = options
  const { port = 0, objects = new Map<string, StoredObject>() } = options
  const config = { bucket: 'blobs', region, accessKeyId: 'test-access-key', secretAccessKey: 'test-secret' }
  const keys = new Map<string, Key>([[config.accessKeyId, { secretAccessKey: config.secretAccessKey }]])
  const uploads = new Map<string, Upload>()
  const requests: string[] = []
  const faults: S3Fault[] = []
  const hooks: { onRead?: (key: string) => Promise<unknown> } = {}
  const respond = (call: Call): ApiResponse => {
    const { method, key, query, request, body } = call
    const refusal = checkSignature(request, { keys, region, now: now() })
    if (refusal !== undefined) return refusal
    if (sha256(body) !== request.headers['x-amz-content-sha256']) return failure(400, 'XAmzContentSHA256Mismatch')
    const object = objects.get(key)
    if (key === '' && query.has('uploads')) return { status: 200, body: uploadListing(uploads, query) }
    if (key === '') return { status: 200, body: listing(objects, query) }
    if (method === 'GET' || method === 'HEAD') {
      if (!object) return failure(404, 'NoSuchKey')
      const headers = { ...object.headers, etag: etag(object.body), 'last-modified': object.modifiedAt.toUTCString() }
      return { status: 200, body: object.body, headers: { ...headers, 'content-length': object.body.length } }
    }
    if (method === 'POST' && query.has('uploads')) {
      const id = randomUUID()
      uploads.set(id, { key, initiatedAt: new Date(), headers: metadata(request), parts: new Map() })
      return {
        status: 200,
        body: `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      }
    }
    const uploadId = query.get('uploadId')
    if (uploadId !== null) return answerUpload(call, uploadId)
    if (method === 'DELETE') {
      objects.delete(key)
      return { status: 204 }
    }
    if (object && request.headers['if-none-match'] === '*') return failure(412, 'PreconditionFailed')
    objects.set(key, { body, modifiedAt: new Date(), headers: metadata(request) })
    return { status: 200, headers: { etag: etag(body) } }
  }

  const answerUpload = ({ method, key, query, request, body }: Call, uploadId: string): ApiResponse => {
    const upload = uploads.get(uploadId)
    if (!upload || upload.key !== key) return failure(404, 'NoSuchUpload')
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body)
      return { status: 200, headers: { etag: etag(body) } }
    }
    if (method === 'DELETE') {
      uploads.delete(uploadId)
      return { status: 204 }
    }
    if (objects.has(key) && request.headers['if-none-match'] === '*') return failure(412, 'PreconditionFailed')
    const listed = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>(.*?)<\/ETag>/g)]
    const parts = listed.map(([, number, tag]) => {
      const part = upload.parts.get(Number(number))
      return part && etag(part) === tag ? part : undefined
    })
    const whole = parts.filter((part) => part !== undefined)
    if (whole.length !== parts.length || whole.length === 0) return failure(400, 'InvalidPart')
    if (whole.slice(0, -1).some((part) => part.length < 5 * 1024 * 1024)) return failure(400, 'EntityTooSmall')
    objects.set(key, { body: Buffer.concat(whole), modifiedAt: new Date(), headers: upload.headers })
    uploads.delete(uploadId)
    return { status: 200, body: '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>' }
  }

  const locate = (request: IncomingMessage, url: URL) => {
    const name = decodeURIComponent(url.pathname)
    if (!`${name}/`.startsWith(`${path}/`)) return { bucket: '', key: '' }
    const rest = name.slice(path.length + 1)
    const [bucket = '', ...segments] = rest.split('/')
    if (addressing === 'path') return { bucket, key: segments.join('/') }
    return { bucket: request.headers.host?.split(`.${host}`)[0] ?? '', key: rest }
  }

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const { bucket, key } = locate(request, url)
    const body = Buffer.concat(await request.toArray())
    requests.push(`${request.method} ${request.url}`)
    const fault = faults.shift() ?? 'none'
    if (fault === 'cut-before') return void request.socket.destroy()
    if (fault === 'silent') return
    const call = { method: request.method ?? '', key, query: url.searchParams, request, body }
    if (call.method === 'GET' && call.key !== '') await hooks.onRead?.(call.key)
    const refusal = bucket === config.bucket ? REFUSALS[fault] : failure(404, 'NoSuchBucket')
    const result = refusal ?? respond(call)
    if (fault === 'cut-after') return void request.socket.destroy()
    response.writeHead(result.status, result.headers)
    response.end(request.method === 'HEAD' ? undefined : result.body)
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.address() as AddressInfo

  return {
    /** Fit for `createBlobs`. */
    config: {
      ...config,
      addressing,
      endpoint: `http://${host}:${address.port}${path}`,
      credentials: staticCredentials(config),
    } satisfies S3Config & Record<string, unknown>,
    /** Accepted access keys, for a test to add some. */
    keys,
    /** Objects by their full name, for a test to look at and to damage. */
    objects,
    /** Multipart uploads that were begun, and neither completed nor aborted. */
    uploads,
    /** `METHOD path` of every request so far. */
    requests,
    faults,
    /** Called before an object is read. */
    hooks,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type S3Server = Awaited<ReturnType<typeof createS3Server>>

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^ ]+), Signature=([0-9a-f]{64})$/
const REQUIRED_HEADERS = ['host', 'x-amz-content-sha256', 'x-amz-date']

/** The response to a request whose signature is not valid. */
function checkSignature(
  request: IncomingMessage,
  { keys, region, now }: { keys: ReadonlyMap<string, Key>; region: string; now: number },
): ApiResponse | undefined {
  const [, id = '', date = '', actualRegion = '', signed = '', signature] =
    AUTHORIZATION.exec(request.headers.authorization ?? '') ?? []
  const key = keys.get(id)
  if (!key) return failure(403, 'InvalidAccessKeyId')
  const names = signed.split(';')
  const { 'x-amz-date': time = '', 'x-amz-content-sha256': hash = '', 'x-amz-security-token': token } = request.headers
  const isWhole = REQUIRED_HEADERS.every((name) => names.includes(name)) && String(time).startsWith(date)
  if (!isWhole || actualRegion !== region) return failure(403, 'AuthorizationHeaderMalformed')
  if (token !== key.sessionToken) return failure(403, 'InvalidToken')
  const url = new URL(request.url ?? '/', 'http://localhost')
  const query = [...url.searchParams].map((pair) => pair.map(encode).join('=')).toSorted()
  const headers = names.map((name) => `${name}:${String(request.headers[name] ?? '')}\n`)
  const path = decodeURIComponent(url.pathname).split('/').map(encode).join('/')
  const canonical = [request.method, path, query.join('&'), headers.join(''), signed, String(hash)].join('\n')
  const scope = `${date}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', String(time), scope, sha256(Buffer.from(canonical))].join('\n')
  const signingKey = scope
    .split('/')
    .reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${key.secretAccessKey}`)
  if (hmac(signingKey, text).toString('hex') !== signature) return failure(403, 'SignatureDoesNotMatch')
  if (key.expiresAt !== undefined && key.expiresAt <= now) return failure(400, 'ExpiredToken')
  return undefined
}

function hmac(key: string | Buffer, text: string) {
  return createHmac('sha256', key).update(text).digest()
}

function encode(text: string) {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function listing(objects: Map<string, StoredObject>, query: URLSearchParams) {
  const after = query.get('continuation-token') ?? query.get('start-after') ?? ''
  const keys = [...objects.keys()].filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after).sort()
  const page = keys.slice(0, PAGE)
  const contents = page.map((key) => {
    const object = objects.get(key)
    const modified = `<LastModified>${object?.modifiedAt.toISOString()}</LastModified>`
    return `<Contents><Key>${key}</Key>${modified}<Size>${object?.body.length}</Size></Contents>`
  })
  const next = keys.length > PAGE ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
  return `<ListBucketResult>${contents.join('')}${next}</ListBucketResult>`
}

function uploadListing(uploads: Map<string, Upload>, query: URLSearchParams) {
  const [prefix, key, id] = ['prefix', 'key-marker', 'upload-id-marker'].map((name) => query.get(name) ?? '')
  const listed = [...uploads]
    .map(([uploadId, upload]) => ({ ...upload, uploadId, position: `${upload.key}\0${uploadId}` }))
    .filter((upload) => upload.key.startsWith(prefix ?? '') && upload.position > `${key}\0${id}`)
    .sort((a, b) => (a.position < b.position ? -1 : 1))
  const page = listed.slice(0, PAGE)
  const items = page.map(
    ({ key, uploadId, initiatedAt }) =>
      `<Upload><Key>${key}</Key><UploadId>${uploadId}</UploadId><Initiated>${initiatedAt.toISOString()}</Initiated></Upload>`,
  )
  const last = listed.length > PAGE ? page.at(-1) : undefined
  const next = last
    ? `<NextKeyMarker>${last.key}</NextKeyMarker><NextUploadIdMarker>${last.uploadId}</NextUploadIdMarker>`
    : ''
  return `<ListMultipartUploadsResult><IsTruncated>${last !== undefined}</IsTruncated>${next}${items.join('')}</ListMultipartUploadsResult>`
}

function metadata(request: IncomingMessage): Record<string, string> {
  const kept = Object.entries(request.headers).filter(([name]) => name.startsWith('x-amz-meta-'))
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]))
}

function failure(status: number, code: string): ApiResponse {
  return { status, body: `<Error><Code>${code}</Code></Error>` }
}

function sha256(body: Buffer) {
  return createHash('sha256').update(body).digest('hex')
}

function etag(body: Buffer) {
  return `"${createHash('md5').update(body).digest('hex')}"`
}
